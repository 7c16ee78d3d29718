/** Work of one name never overlaps, even if it fails; work of another name does not wait. */

import assert from "node:assert/strict";
import { openLines } from "../../../src/domain/fairness/lines.ts";

Deno.test("work of one name is done in its order, also after work that fails", async () => {
  const lines = openLines();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const works = [
    lines.inLine("a", () => first.promise.then(() => done.push("first"))),
    lines.inLine("a", () => Promise.reject(new Error("fails"))),
    lines.inLine("a", () => Promise.resolve(done.push("third"))),
  ];
  await lines.inLine("b", () => Promise.resolve(done.push("other")));
  first.resolve();
  const ends = await Promise.allSettled(works);
  assert.deepEqual(ends.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(done, ["other", "first", "third"]);
});
