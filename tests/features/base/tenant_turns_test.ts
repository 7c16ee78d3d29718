/** Turns of environments in a queue that is kept in the order of its keys. */

import assert from "node:assert/strict";
import { openTenantTurns, type TenantTurns } from "../../../src/features/base/tenant_turns.ts";
import type { ReadTransaction } from "../../../src/kv/engine.ts";

interface Entry {
  readonly tenant: number;
  readonly name: string;
}

const TX = {} as ReadTransaction;

function entriesOf(tenant: number, count: number): Entry[] {
  return Array.from({ length: count }, (_, at) => ({ tenant, name: String(at).padStart(4, "0") }));
}

/** Turns over `queue`, which is in order, and the entries that its lists have returned. */
function turnsOver(queue: () => readonly Entry[]) {
  const seen = { listed: 0 };
  const turns = openTenantTurns<Entry>({
    list(_tx, { tenant, name }, limit) {
      const isBehind = (each: Entry) =>
        each.tenant > tenant || (each.tenant === tenant && each.name > name);
      const page = queue().filter(isBehind).slice(0, limit);
      seen.listed += page.length;
      return Promise.resolve(page);
    },
    nameOf: ({ name }) => name,
  });
  return { seen, turns };
}

async function next(turns: TenantTurns<Entry>, limit: number): Promise<string[]> {
  const taken = turns.take(await turns.list(TX, limit));
  return taken.map(({ tenant, name }) => `${tenant}/${Number(name)}`);
}

Deno.test("environments take turns, however many entries each of them has", async () => {
  const queue = [...entriesOf(1, 10_000), ...entriesOf(2, 2), ...entriesOf(5, 1)];
  const { seen, turns } = turnsOver(() => queue);
  assert.deepEqual(await next(turns, 6), ["1/0", "2/0", "5/0", "1/1", "2/1"]);
  assert.ok(seen.listed < 20, `${seen.listed} entries were listed`);
  assert.deepEqual((await next(turns, 3)).toSorted(), ["1/2", "2/0", "5/0"]);
});

Deno.test("entries that stay in the queue have their next turn behind all others of theirs", async () => {
  const { turns } = turnsOver(() => entriesOf(3, 5));
  assert.deepEqual(await next(turns, 2), ["3/0", "3/1"]);
  assert.deepEqual(await next(turns, 2), ["3/2", "3/3"]);
  assert.deepEqual(await next(turns, 2), ["3/4"]);
  assert.deepEqual(await next(turns, 2), ["3/0", "3/1"]);
});

Deno.test("of more environments than have turns together each has one, one after the other", async () => {
  const queue = Array.from({ length: 25 }, (_, at) => entriesOf(at + 1, 100)).flat();
  const { turns } = turnsOver(() => queue);
  const seen = new Set<string>();
  for (let time = 0; time < 3; time++) {
    for (const entry of await next(turns, 10)) seen.add(entry.split("/")[0]!);
  }
  assert.equal(seen.size, 25);
});

Deno.test("there are no turns where nothing waits", async () => {
  const { turns } = turnsOver(() => []);
  assert.deepEqual(await next(turns, 10), []);
});
