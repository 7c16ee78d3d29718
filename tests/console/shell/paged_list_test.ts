/** A list in pages never shows the rows of another question, and goes on after a refusal. */

import assert from "node:assert/strict";
import type { Page, Refusal } from "@daybook/client";
import { createPaged, type Paged } from "../../../console/src/shell/paged_list.ts";

const REFUSED = { ok: false, error_type: "unreachable", error: "gone", status: 0 } as Refusal;

function pageOf(data: string[], next_start?: string): Page<string> {
  return { ok: true, data, truncated: next_start !== undefined, next_start } as Page<string>;
}

/** A list whose calls are answered by the test, one after the other. */
function openList() {
  const shown: Paged<string>[] = [];
  const calls: { start?: string; answer(answer: Page<string> | Refusal): Promise<void> }[] = [];
  const list = createPaged<string>((paged) => shown.push(paged));
  function load(start: string | undefined) {
    const { promise, resolve } = Promise.withResolvers<Page<string> | Refusal>();
    calls.push({
      start,
      async answer(answer) {
        resolve(answer);
        await new Promise((done) => setTimeout(done));
      },
    });
    return promise;
  }
  return { list, load, calls, now: () => shown.at(-1)! };
}

Deno.test("A page of the old question that comes late does not replace the new list", async () => {
  const { list, load, calls, now } = openList();
  list.start(load);
  await calls[0]!.answer(pageOf(["a"], "a"));
  list.more();
  list.start(load);
  await calls[2]!.answer(pageOf(["new"]));
  await calls[1]!.answer(pageOf(["b"]));
  assert.deepEqual(now(), { rows: ["new"], next: undefined, isLoading: false });
});

Deno.test("After a refusal the rows stay, and the refused page can be asked for again", async () => {
  const { list, load, calls, now } = openList();
  list.start(load);
  await calls[0]!.answer(pageOf(["a"], "a"));
  list.more();
  // A second click while the page is on its way asks for nothing.
  list.more();
  assert.equal(calls.length, 2);
  await calls[1]!.answer(REFUSED);
  assert.deepEqual(now(), { rows: ["a"], next: "a", refusal: REFUSED, isLoading: false });
  list.more();
  assert.equal(calls[2]!.start, "a");
  await calls[2]!.answer(pageOf(["b"]));
  assert.deepEqual(now(), { rows: ["a", "b"], next: undefined, isLoading: false });
});
