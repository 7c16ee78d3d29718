/** `checkStore()` finds nothing in a sound store, and every flipped byte of its evidence. */

import assert from "node:assert/strict";
import { streamKey } from "../../src/domain/stream_key.ts";
import { checkStore } from "../../src/queries/check_store.ts";
import { keys } from "../../src/store/keys.ts";
import { pack, rangeOf, unpack } from "../../src/kv/tuple.ts";
import { erase } from "../support/erasure_fixtures.ts";
import {
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../support/service_fixture.ts";

function notes(count: number) {
  const texts = Array.from({ length: count }, (_, index) => `note ${index}`);
  return texts.map((text) => ({ type: "was_noted", data: { text } }));
}

/** Three streams, one of them with tiles, and three anchors with changes between them. */
async function fill({ service, tenants: { test } }: ServiceFixture) {
  for (const [number, count] of [[1, 3], [2, 1], [3, 260], [1, 2], [2, 1]] as const) {
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(number), notes(count))));
    if (count !== 1) await service.audit.makeAnchor(test);
  }
  await service.audit.makeAnchor(test);
}

async function faultsOf({ engine }: ServiceFixture) {
  return (await checkStore(engine, true)).faults;
}

Deno.test("checkStore() finds no fault in a sound store, and counts what it has walked", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { faults, ...counts } = await checkStore(fixture.engine, true);
    assert.deepEqual(faults, []);
    assert.deepEqual(counts, { environments: 3, streams: 3, events: 267, anchors: 4 });
  });
});

/** All records of a kind, also the one that has no further name. */
function recordsOf({ engine, tenants: { test } }: ServiceFixture, kind: number) {
  const name = [test.number, kind];
  const range = { begin: pack(name), end: rangeOf(name).end };
  return engine.snapshot((tx) => tx.getRange(range));
}

/** The second part of a tenant's key says what kind of record it is. */
function kindOf(key: Uint8Array): number {
  return unpack(key)[1] as number;
}

const EVIDENCE = {
  streams: kindOf(keys.head(1, "a")),
  state: kindOf(keys.auditState(1)),
  anchors: kindOf(keys.anchor(1, 1)),
  ids: kindOf(keys.anchorNumber(1, "a")),
  blocks: kindOf(keys.anchorBlocks(1, 1)),
  chunks: kindOf(keys.chunk(1, "a")),
  leaves: kindOf(keys.chunkLeaves(1, "a", 1)),
  tiles: kindOf(keys.tile(1, "a", 0, 0, 0)),
};
const LISTED = kindOf(keys.aggregate(1, "a", "b"));
/** The epoch of a head is of no event, and nothing else in a store says it. */
const UNTOLD = { from: 37, to: 41 };
/** Of longer values, bytes at this distance. */
const WHOLE_BYTES = 400;
const STEP = 1009;

for (const [name, kind] of Object.entries(EVIDENCE)) {
  Deno.test(`checkStore() finds each flipped byte of the evidence: ${name}`, async () => {
    await withService(async (fixture) => {
      await fill(fixture);
      const { engine, tenants: { test } } = fixture;
      const pairs = await recordsOf(fixture, kind);
      assert.ok(pairs.length > 0, "there is such evidence");
      const heads = [1, 2, 3].map((number) =>
        keys.head(test.number, streamKey("order", uuid(number))).toHex()
      );
      for (const { key, value } of pairs) {
        const isHead = heads.includes(key.toHex());
        for (let at = 0; at < value.length; at += value.length > WHOLE_BYTES ? STEP : 1) {
          if (isHead && at >= UNTOLD.from && at < UNTOLD.to) continue;
          const flipped = Uint8Array.from(value);
          flipped[at]! ^= 1 << (at % 8);
          await engine.transact((tx) => Promise.resolve(tx.set(key, flipped)));
          const faults = await faultsOf(fixture);
          assert.ok(faults.length > 0, `${key.toHex()} byte ${at} of ${value.length}`);
        }
        await engine.transact((tx) => Promise.resolve(tx.set(key, value)));
      }
      assert.deepEqual(await faultsOf(fixture), []);
    });
  });
}

Deno.test("checkStore() finds each record of the evidence that is gone", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine } = fixture;
    // Also the listing of ids. A tile alone may be gone: it follows from the events.
    const kinds = [LISTED, ...Object.values(EVIDENCE)].filter((kind) => kind !== EVIDENCE.tiles);
    for (const kind of kinds) {
      const pairs = await recordsOf(fixture, kind);
      for (const { key, value } of pairs) {
        await engine.transact((tx) => Promise.resolve(tx.clear(key)));
        assert.ok((await faultsOf(fixture)).length > 0, `kind ${kind}: ${key.toHex()}`);
        await engine.transact((tx) => Promise.resolve(tx.set(key, value)));
      }
    }
    assert.deepEqual(await faultsOf(fixture), []);
  });
});

Deno.test("checkStore() takes what was erased by a request for sound, and finds each flipped byte that speaks of it", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, tenants: { test } } = fixture;
    await erase(fixture, streamKey("order", uuid(1)));
    assert.deepEqual(await faultsOf(fixture), []);
    const [tombstone] = await recordsOf(fixture, kindOf(keys.tombstone(1, "a")));
    const told = new TextDecoder().decode(tombstone!.value);
    const { receipt, result } = JSON.parse(told);
    const places = [receipt.signature, receipt.tip, receipt.reason, receipt.public_key, result.tip];
    for (const text of places) {
      const changed = told.replaceAll(text, text.slice(0, -1) + (text.endsWith("0") ? "1" : "0"));
      const value = new TextEncoder().encode(changed);
      await engine.transact((tx) => Promise.resolve(tx.set(tombstone!.key, value)));
      assert.ok((await faultsOf(fixture)).length > 0, text);
    }
    await engine.transact((tx) => Promise.resolve(tx.clear(tombstone!.key)));
    const subjects = (await faultsOf(fixture)).map(({ subject, fault }) => `${subject} ${fault}`);
    assert.ok(subjects.some((text) => /^order:.*0001 was erased or altered since/.test(text)));
    await engine.transact((tx) => Promise.resolve(tx.set(tombstone!.key, tombstone!.value)));
    const old = keys.segment(test.number, streamKey("order", uuid(1)), 0);
    const [segment] = await engine.snapshot((tx) =>
      tx.getRange(keys.segments(test.number, streamKey("order", uuid(2))))
    );
    await engine.transact((tx) => Promise.resolve(tx.set(old, segment!.value)));
    const left = (await faultsOf(fixture)).map(({ fault }) => fault);
    assert.ok(left.includes("has events of another generation than its head"), left.join());
  });
});
