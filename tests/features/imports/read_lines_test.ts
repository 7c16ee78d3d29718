/** A file yields the same lines, positions and digests, however it is cut into pieces. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { readLines } from "../../../src/features/imports/read_lines.ts";
import { limits } from "../../../src/domain/limits.ts";
import { accept, type Outcome, refuse } from "../../../src/domain/refusal.ts";

const encoder = new TextEncoder();

async function* cut(
  file: Uint8Array,
  ends: readonly number[],
): AsyncGenerator<Outcome<Uint8Array>> {
  // Pieces share their memory, like those of a request body.
  const memory = new Uint8Array(file.length);
  const places = [...new Set(ends.map((end) => end % (file.length + 1)))].sort((a, b) => a - b);
  let at = 0;
  for (const end of [...places, file.length]) {
    memory.set(file.subarray(at, end));
    yield accept(memory.subarray(0, end - at));
    at = end;
  }
}

const file = fc.array(fc.string({ unit: "binary", maxLength: 20 }), { maxLength: 30 })
  .map((parts) => parts.join("\n"));
const ends = fc.array(fc.nat(), { maxLength: 20 });

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

Deno.test("all lines come in order, each with the place and digest behind it, however the file is cut and taken", async () => {
  await fc.assert(
    fc.asyncProperty(file, ends, fc.array(fc.nat()), async (text, ends, takes) => {
      const bytes = encoder.encode(text);
      const reader = readLines(cut(bytes, ends));
      const found: string[] = [];
      for (let turn = 0;; turn++) {
        const lines = await reader.next();
        assert.ok(lines.ok);
        const { count, take } = lines.value;
        if (count === 0) break;
        const taken = 1 + (takes[turn] ?? 0) % count;
        for (let index = 0; index < taken; index++) found.push(lines.value.text(index)!);
        take(taken);
        const read = encoder.encode(found.join(""));
        assert.deepEqual([reader.bytes, reader.lines], [read.length, found.length]);
        assert.equal(reader.digest(), digestOf(read));
      }
      const whole = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
      assert.equal(found.join(""), whole);
      assert.deepEqual(found, whole.match(/[^\n]*\n|[^\n]+$/g) ?? []);
    }),
  );
});

Deno.test("skipTo() tells whether the file begins with what was there, and goes on behind it", async () => {
  await fc.assert(
    fc.asyncProperty(file, ends, fc.nat(), async (text, ends, place) => {
      const bytes = encoder.encode(text);
      const at = place % (bytes.length + 1);
      const digest = digestOf(bytes.subarray(0, at));
      const reader = readLines(cut(bytes, ends));
      assert.deepEqual(await reader.skipTo({ bytes: at, digest }, 7), accept(true));
      assert.deepEqual([reader.bytes, reader.lines, reader.digest()], [at, 7, digest]);
      const other = readLines(cut(bytes, ends));
      const wrong = { bytes: at, digest: digestOf(encoder.encode(`${text}?`)) };
      assert.deepEqual(await other.skipTo(wrong, 7), accept(false));
      const shorter = readLines(cut(bytes.subarray(0, at), ends));
      const beyond = { bytes: at + 1, digest };
      assert.deepEqual(await shorter.skipTo(beyond, 7), accept(false));
    }),
  );
});

Deno.test("a line of the most bytes is read, one byte more is refused", async () => {
  for (const more of [0, 1]) {
    const line = `${"x".repeat(limits.importLineBytesMax - 1 + more)}\n`;
    const lines = await readLines(cut(encoder.encode(line), [70_000])).next();
    assert.equal(lines.ok, more === 0);
    if (!lines.ok) assert.equal(lines.refusal.kind, "payload_too_large");
  }
});

Deno.test("a body that ends too soon is refused behind its last whole line", async () => {
  async function* broken(): AsyncGenerator<Outcome<Uint8Array>> {
    yield accept(encoder.encode("a\nb"));
    yield refuse({ kind: "bad_request", message: "gone" });
  }
  const reader = readLines(broken());
  const lines = await reader.next();
  assert.ok(lines.ok && lines.value.count === 1);
  lines.value.take(1);
  assert.ok(!(await reader.next()).ok);
});

Deno.test("what is no UTF-8 has no text, and its neighbours have theirs", async () => {
  const bytes = Uint8Array.of(0x61, 0x0a, 0xff, 0x0a, 0xc3, 0xa9, 0x0a);
  const lines = await readLines(cut(bytes, [])).next();
  assert.ok(lines.ok);
  const { text } = lines.value;
  assert.deepEqual([text(0), text(1), text(2)], ["a\n", undefined, "é\n"]);
});
