/** Reading and writing files in whole chunks. */

import assert from "node:assert/strict";
import { readChunks, syncNamesIn, writeAll } from "../src/files.ts";

Deno.test("all bytes are written, however few a single write takes", async () => {
  const taken: number[] = [];
  const slow = {
    write(bytes: Uint8Array): Promise<number> {
      const some = bytes.subarray(0, 3);
      taken.push(...some);
      return Promise.resolve(some.length);
    },
  };
  await writeAll(slow, Uint8Array.of(1, 2, 3, 4, 5, 6, 7));
  assert.deepEqual(taken, [1, 2, 3, 4, 5, 6, 7]);
});

Deno.test("a file is read as it is, in chunks of at most 1 MiB", async () => {
  const folder = await Deno.makeTempDir();
  const content = crypto.getRandomValues(new Uint8Array(65_536));
  const whole = new Uint8Array(40 * content.length + 5).map((_, at) => content[at % 65_536]!);
  await Deno.writeFile(`${folder}/a`, whole);
  await syncNamesIn(folder);
  let at = 0;
  for await (const chunk of readChunks(`${folder}/a`)) {
    assert.ok(chunk.length > 0 && chunk.length <= 1_048_576);
    assert.deepEqual(chunk, whole.subarray(at, at + chunk.length));
    at += chunk.length;
  }
  assert.equal(at, whole.length);
  await Deno.remove(folder, { recursive: true });
});
