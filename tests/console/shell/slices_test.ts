/** Long work in slices: its result, its news, and its end. */

import assert from "node:assert/strict";
import { runInSlices } from "../../../console/src/shell/slices.ts";

function* countTo(last: number): Generator<number | void, string> {
  for (let at = 1; at <= last; at++) {
    yield;
    yield at;
  }
  return "done";
}

Deno.test("runInSlices() gives the result, and tells what the work gives on its way", async () => {
  const told: number[] = [];
  const result = await runInSlices(countTo(3), new AbortController().signal, (n) => told.push(n));
  assert.deepEqual([result, told], ["done", [1, 2, 3]]);
  assert.equal(await runInSlices(countTo(3), new AbortController().signal), "done");
});

Deno.test("runInSlices() goes no further once its signal has ended", async () => {
  const ending = new AbortController();
  const told: number[] = [];
  const result = await runInSlices(countTo(9), ending.signal, (n) => {
    told.push(n);
    if (n === 2) ending.abort();
  });
  assert.deepEqual([result, told], [undefined, [1, 2]]);
});
