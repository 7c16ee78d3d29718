/** The outbox of one tenant: all its entries and no others, in an order without shards. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { OutboxPlace } from "../../../src/domain/reaction/outbox_entry.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { putEntry } from "../../../src/store/reactions/outbox.ts";
import { encodeEntry } from "../../../src/store/reactions/entry_bytes.ts";
import { listTenantOutbox } from "../../../src/store/reactions/tenant_outbox.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const entry = { kind: "sagas", eventType: "was_placed", requestId: "r" } as const;
const VALUE = encodeEntry({ entry, sinceMs: 1, waitMs: 2, tries: 0 });

async function put(engine: Engine, places: readonly OutboxPlace[]): Promise<void> {
  await engine.transact((tx) => {
    for (const place of places) putEntry(tx, place, VALUE);
    return Promise.resolve();
  });
}

async function listAll(engine: Engine, tenant: number, limit: number): Promise<OutboxPlace[]> {
  const all: OutboxPlace[] = [];
  for (let pages = 0; pages < 1_000; pages++) {
    const after = all.at(-1);
    const page = await engine.snapshot((tx) => listTenantOutbox(tx, tenant, { after, limit }));
    all.push(...page.works.map(({ place }) => place));
    if (page.isLast) return all;
  }
  throw new Error("the list does not end");
}

const anyPlace = fc.record({
  tenant: fc.integer({ min: 1, max: 3 }),
  stream: fc.integer({ min: 0, max: 12 }).map((number) => streamKey("order", `o${number}`)),
  index: fc.constantFrom(0, 1, 9, 255, 256, 70_000),
  number: fc.integer({ min: 0, max: 3 }),
}, { noNullPrototype: true });

function sortKey({ stream, index, number }: OutboxPlace): string {
  return [stream, ...[index, number].map((each) => String(each).padStart(8, "0"))].join(" ");
}

Deno.test("listTenantOutbox() gives each entry of the tenant once, by stream, index and number", async () => {
  const places = fc.uniqueArray(anyPlace, { maxLength: 80, selector: (p) => JSON.stringify(p) });
  await fc.assert(
    fc.asyncProperty(places, fc.constantFrom(1, 2, 5, 100), async (places, limit) => {
      await withTemporaryEngine(async (engine) => {
        await put(engine, places);
        for (const tenant of [1, 2, 3, 4]) {
          const own = places.filter((place) => place.tenant === tenant);
          const expected = own.sort((a, b) => sortKey(a) < sortKey(b) ? -1 : 1);
          assert.deepEqual(await listAll(engine, tenant, limit), expected);
        }
      });
    }),
    { numRuns: 25 },
  );
});

Deno.test("listTenantOutbox() gives the entry as it waits", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = { tenant: 2, stream: streamKey("order", "o1"), index: 3, number: 1 };
    await put(engine, [place]);
    const { works } = await engine.snapshot((tx) => listTenantOutbox(tx, 2, { limit: 10 }));
    assert.deepEqual(works, [{
      place,
      bytes: VALUE.length,
      entry,
      sinceMs: 1,
      waitMs: 2,
      tries: 0,
    }]);
  });
});
