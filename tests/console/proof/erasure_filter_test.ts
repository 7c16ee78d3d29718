/** Requests of erasure are found by stream and state, over as many pages as it takes. */

import assert from "node:assert/strict";
import type { Page } from "@daybook/client";
import type { Tombstone } from "@daybook/client/admin";
import {
  type ErasureFilter,
  findErasures,
  isErasureState,
} from "../../../console/src/proof/erasure_filter.ts";

/** Pages of one request each: of stream `order:<n>`, all completed but every tenth. */
function pagesOf(count: number) {
  const asked: (string | undefined)[] = [];
  const load = (start: string | undefined): Promise<Page<Tombstone>> => {
    asked.push(start);
    const at = Number(start ?? 0);
    const state = at % 10 === 9 ? "pending" : "completed";
    const data = [{ id: `tmb_${at}`, key: `order:${at}`, state } as Tombstone];
    const isLast = at === count - 1;
    const end = isLast ? { truncated: false } : { truncated: true, next_start: String(at + 1) };
    return Promise.resolve({ ok: true, data, ...end } as unknown as Page<Tombstone>);
  };
  return { asked, load };
}

async function found(count: number, filter: ErasureFilter, start?: string) {
  const { asked, load } = pagesOf(count);
  const page = await findErasures(load, filter, start);
  assert.ok(page.ok);
  const keys = page.data.map(({ key }) => key);
  return { keys, asked: asked.length, next: page.truncated ? page.next_start : undefined };
}

Deno.test("without a filter, one page is read as it is", async () => {
  assert.deepEqual(await found(50, {}), { keys: ["order:0"], asked: 1, next: "1" });
});

Deno.test("pages without a hit are passed over, and the next search goes on behind the hit", async () => {
  const filter = { state: "pending" } as const;
  assert.deepEqual(await found(50, filter), { keys: ["order:9"], asked: 10, next: "10" });
  assert.deepEqual(await found(50, filter, "10"), { keys: ["order:19"], asked: 10, next: "20" });
  const streams = ["order:3", "order:x"];
  assert.deepEqual(await found(50, { streams }), { keys: ["order:3"], asked: 4, next: "4" });
});

Deno.test("a search ends with the list, or after 20 pages, from where it can go on", async () => {
  const streams = ["order:none"];
  assert.deepEqual(await found(5, { streams }), { keys: [], asked: 5, next: undefined });
  assert.deepEqual(await found(50, { streams }), { keys: [], asked: 20, next: "20" });
});

Deno.test("a refusal is given back, from any page", async () => {
  const refusal = { ok: false, error: "no", error_type: "server_error", status: 500 } as const;
  const { load } = pagesOf(50);
  const answer = await findErasures(
    (start) => start === "3" ? Promise.resolve(refusal as never) : load(start),
    { streams: [] },
    undefined,
  );
  assert.equal(answer, refusal);
});

Deno.test("only the states of requests are states", () => {
  for (const state of ["pending", "running", "completed", "cancelled"]) {
    assert.ok(isErasureState(state));
  }
  for (const other of [undefined, "", "done", "__proto__"]) assert.ok(!isErasureState(other));
});
