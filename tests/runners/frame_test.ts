/** The frames that pool and runner exchange, however the pipe splits them. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeFrame, frameReader } from "../../src/runners/frame.ts";

Deno.test("frameReader() gives the frames that were sent, however the stream is cut", () => {
  const frame = fc.record({ message: fc.jsonValue(), body: fc.uint8Array({ maxLength: 300 }) });
  const frames = fc.array(frame, { maxLength: 8 });
  fc.assert(fc.property(frames, fc.array(fc.integer({ min: 1, max: 200 })), (sent, cuts) => {
    const bytes = sent.flatMap(({ message, body }) => [...encodeFrame(message, body)]);
    const reader = frameReader<unknown>();
    const received: unknown[] = [];
    for (let at = 0, turn = 0; at < bytes.length; turn++) {
      const end = at + (cuts.length === 0 ? bytes.length : cuts[turn % cuts.length]!);
      reader.push(Uint8Array.from(bytes.slice(at, end)));
      at = end;
      for (let next = reader.next(); next !== undefined; next = reader.next()) received.push(next);
    }
    const plain = sent.map(({ message, body }) => ({
      message: JSON.parse(JSON.stringify(message)),
      body,
    }));
    assert.deepEqual(received, plain);
  }));
});

Deno.test("frameReader() keeps a large frame, and small ones behind it, apart", () => {
  const reader = frameReader<number>();
  const large = new Uint8Array(1_000_000).fill(7);
  reader.push(encodeFrame(1, large));
  reader.push(encodeFrame(2, new Uint8Array(0)));
  assert.deepEqual(reader.next(), { message: 1, body: large });
  assert.deepEqual(reader.next(), { message: 2, body: new Uint8Array(0) });
  assert.equal(reader.next(), undefined);
});
