/** `checkStore()` finds nothing in a sound store, and every flipped byte of its evidence. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { createPlatformAnchorMaker } from "../../../src/features/audit/platform_anchor.ts";
import { CAPABILITIES } from "../../../src/kv/capabilities.ts";
import type { Bytes, Engine, KeyValue, ReadTransaction } from "../../../src/kv/engine.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { keys } from "../../../src/store/keys.ts";
import { pack, rangeOf, unpack } from "../../../src/kv/tuple.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import {
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

/** For small tenant numbers. */
const TENANT_AND_KIND_BYTES = 4;

function notes(count: number) {
  const texts = Array.from({ length: count }, (_, index) => `note ${index}`);
  return texts.map((text) => ({ type: "was_noted", data: { text } }));
}

/** Writes this many events to each order, with an anchor of the environment after each write. */
async function fill(
  { service }: ServiceFixture,
  tenant: ServiceFixture["tenants"]["test"],
  writes: readonly (readonly [order: number, events: number])[],
) {
  for (const [order, count] of writes) {
    valueOf(await service.data.writeEvents(tenant, orderWrite(uuid(order), notes(count))));
    assert.ok((await service.audit.makeAnchor(tenant)).isNew);
  }
}

/** Streams that are new, grown and unchanged between anchors. */
const WRITES = [[2, 2], [1, 1], [2, 1]] as const;

type Reader = Pick<Engine, "snapshot" | "capabilities">;

/** All pairs of a store, in memory: checks of thousands of changed stores then need no engine. */
async function contentOf(engine: Engine): Promise<readonly KeyValue[]> {
  const everything = { begin: new Uint8Array(0), end: Uint8Array.of(0xff) };
  return await engine.snapshot((tx) => tx.getRange(everything));
}

/** A store of these pairs, but with another value under the key, or with none. */
function withRecord(pairs: readonly KeyValue[], key: Bytes, value: Bytes | undefined): Reader {
  const changed = key.toHex();
  const stored = pairs.map((pair) => ({ ...pair, name: pair.key.toHex() }))
    .filter(({ name }) => name !== changed || value !== undefined)
    .map((pair) => pair.name === changed ? { ...pair, value: value! } : pair);
  const byName = new Map(stored.map((pair) => [pair.name, pair.value]));
  const reads: ReadTransaction = {
    readVersion: () => Promise.resolve(1n),
    get: (wanted) => Promise.resolve(byName.get(wanted.toHex())),
    getRange({ begin, end }, { limit = Infinity, reverse = false } = {}) {
      const [from, to] = [begin.toHex(), end.toHex()];
      const found = stored.filter(({ name }) => name >= from && name < to);
      return Promise.resolve((reverse ? found.reverse() : found).slice(0, limit));
    },
  };
  return { snapshot: (body) => body(reads), capabilities: CAPABILITIES.sqlite };
}

/** A store that cannot be walked counts as unsound too. */
async function isSound(engine: Reader): Promise<boolean> {
  return await checkStore(engine, true).then(({ faults }) => faults.length === 0, () => false);
}

async function assertEachFlipFound(
  pairs: readonly KeyValue[],
  { key, value }: KeyValue,
  step = 1,
) {
  assert.ok(await isSound(withRecord(pairs, key, value)), "the store is sound without a flip");
  for (let at = 0; at < value.length; at += step) {
    const flipped = Uint8Array.from(value);
    flipped[at]! ^= 1 << (at % 8);
    const name = `${key.toHex()} byte ${at} of ${value.length}`;
    assert.ok(!await isSound(withRecord(pairs, key, flipped)), name);
  }
}

function recordsIn({ engine }: ServiceFixture, prefix: readonly (string | number)[]) {
  const range = { begin: pack(prefix), end: rangeOf(prefix).end };
  return engine.snapshot((tx) => tx.getRange(range));
}

/**
 * Kinds of records that nothing else in a store repeats: specs, what their types wait for, the
 * numbers of cuts and rewrites, the monthly number of events. The checksums of rows protect
 * these.
 */
const TOLD_ONCE = [
  keys.spec(1, 1),
  keys.specDocument(1, 1),
  keys.currentSpec(1),
  keys.watchedTypes(1),
  keys.auditEpoch(1),
  keys.auditRewrites(1),
  keys.usage(1, "2026-01", 0),
].map(kindOf);

function kindOf(key: Bytes) {
  // The rest need not be a tuple.
  return unpack(key.subarray(0, TENANT_AND_KIND_BYTES))[1];
}

/** All other records of the environment, of any kind: a new kind counts as evidence at first. */
async function evidenceOf(fixture: ServiceFixture) {
  const records = await recordsIn(fixture, [fixture.tenants.test.number]);
  return records.filter(({ key }) => !TOLD_ONCE.includes(kindOf(key)));
}

Deno.test("checkStore() finds no fault in a sound store, and counts what it has walked", async () => {
  await withService(async (fixture) => {
    await fill(fixture, fixture.tenants.test, [...WRITES, [3, 260]]);
    const { faults, ...counts } = await checkStore(fixture.engine, true);
    assert.deepEqual(faults, []);
    assert.deepEqual(counts, { environments: 3, streams: 3, events: 264, anchors: 4 });
  });
});

Deno.test("checkStore() finds each flipped byte of each record of the evidence", async () => {
  await withService(async (fixture) => {
    await fill(fixture, fixture.tenants.test, WRITES);
    const evidence = await evidenceOf(fixture);
    const kinds = new Set(evidence.map(({ key }) => kindOf(key)));
    assert.ok(kinds.size >= 8, "streams, listing, anchors, ids, blocks, chunks and their leaves");
    const pairs = await contentOf(fixture.engine);
    for (const record of evidence) await assertEachFlipFound(pairs, record);
    assert.ok(await isSound(fixture.engine));
  });
});

Deno.test("checkStore() finds flipped bytes of the tiles of a long stream", async () => {
  await withService(async (fixture) => {
    const { engine, tenants: { test } } = fixture;
    await fill(fixture, test, [[1, 257]]);
    const kind = kindOf(keys.tile(1, "order:1", 0, 0, 0));
    const tiles = (await evidenceOf(fixture)).filter(({ key }) => kindOf(key) === kind);
    assert.ok(tiles.length >= 2, "one of leaves, one above");
    const pairs = await contentOf(engine);
    for (const tile of tiles) await assertEachFlipFound(pairs, tile, 241);
  });
});

Deno.test("checkStore() finds each flipped byte of what a platform anchor rests on", async () => {
  await withService(async (fixture) => {
    const { engine, host, tenants: { production } } = fixture;
    await fill(fixture, production, [[1, 1]]);
    assert.ok((await createPlatformAnchorMaker(engine, host).make()).isNew);
    const [anchor] = await recordsIn(fixture, [0, "platform_anchor"]);
    const [key] = await recordsIn(fixture, [0, "platform_key"]);
    assert.ok(await isSound(engine));
    const pairs = await contentOf(engine);
    assert.ok(await isSound(withRecord(pairs, anchor!.key, anchor!.value)));
    const text = new TextDecoder().decode(anchor!.value);
    // Its own name is not signed.
    const named = /"id":"pla_[^"]*"/.exec(text)!;
    for (let at = 0; at < text.length; at++) {
      if (at >= named.index && at < named.index + named[0].length) continue;
      const flipped = Uint8Array.from(anchor!.value);
      flipped[at]! ^= 1 << (at % 8);
      const changed = withRecord(pairs, anchor!.key, flipped);
      assert.ok(!await isSound(changed), `byte ${at}: ${text.slice(at - 9, at + 9)}`);
    }
    const halves = new TextDecoder().decode(key!.value);
    for (const half of ["public_key", "private_key"]) {
      const at = halves.indexOf(`"${half}":"`) + half.length + 4;
      const flipped = Uint8Array.from(key!.value);
      flipped[at]! ^= 1;
      assert.ok(!await isSound(withRecord(pairs, key!.key, flipped)), half);
    }
  });
});

Deno.test("checkStore() finds each record of the evidence that is gone", async () => {
  await withService(async (fixture) => {
    await fill(fixture, fixture.tenants.test, WRITES);
    const pairs = await contentOf(fixture.engine);
    assert.ok(await isSound(withRecord(pairs, pairs[0]!.key, pairs[0]!.value)));
    for (const { key } of await evidenceOf(fixture)) {
      const without = withRecord(pairs, key, undefined);
      assert.ok(!await isSound(without), key.toHex());
    }
  });
});

Deno.test("checkStore() takes what was erased by a request for sound, and finds what speaks of it changed or gone", async () => {
  await withService(async (fixture) => {
    const { engine, tenants: { test } } = fixture;
    const stream = streamKey("order", uuid(1));
    await fill(fixture, test, WRITES);
    await erase(fixture, stream);
    assert.ok(await isSound(engine));
    const pairs = await contentOf(engine);
    const key = (await recordsIn(fixture, [test.number]))
      .find((record) => kindOf(record.key) === kindOf(keys.tombstone(1, "a")))!.key;
    const told = new TextDecoder().decode(
      pairs.find((pair) => pair.key.toHex() === key.toHex())!.value,
    );
    const { receipt, result } = JSON.parse(told);
    const places = [receipt.signature, receipt.tip, receipt.reason, receipt.public_key, result.tip];
    for (const text of places) {
      const changed = told.replaceAll(text, text.slice(0, -1) + (text.endsWith("0") ? "1" : "0"));
      const value = new TextEncoder().encode(changed);
      assert.ok(!await isSound(withRecord(pairs, key, value)), text);
    }
    const without = await checkStore(withRecord(pairs, key, undefined), true);
    assert.ok(without.faults.some(({ fault }) => /^was erased or altered since/.test(fault)));
    const old = keys.segment(test.number, stream, 0);
    const [other] = await recordsIn(fixture, [test.number]);
    await engine.transact((tx) => Promise.resolve(tx.set(old, other!.value)));
    const left = (await checkStore(engine, true)).faults.map(({ fault }) => fault);
    assert.ok(left.includes("has events of another generation than its head"), left.join());
  });
});
