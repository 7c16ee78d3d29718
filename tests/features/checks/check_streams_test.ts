/**
 * `fsck` and the streams: finds every lost, foreign or moved point, and nothing else, also where
 * others write meanwhile.
 */

import assert from "node:assert/strict";
import { geoPlaceOf } from "../../../src/domain/geo/cells.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { GeoPoint } from "../../../src/domain/geo/point.ts";
import { CAPABILITIES } from "../../../src/kv/capabilities.ts";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { movePoint } from "../../../src/store/streams/geo_index.ts";
import { geoSpec, geoWrite, seen } from "../../support/geo_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { changeHead } from "../../support/stored_head.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";

const BERLIN = geoPlaceOf({ lat: 52.52, lng: 13.405 });
const SYDNEY = geoPlaceOf({ lat: -33.8688, lng: 151.2093 });
const VAN = streamKey("van", uuid(1));

type Damage = (tx: Transaction, tenant: number) => void | Promise<void>;

async function setHead(tx: Transaction, tenant: number, place: typeof BERLIN | undefined) {
  await changeHead(tx, tenant, VAN, { place });
}

const damages: readonly [string, Damage, readonly (readonly [string, RegExp])[]][] = [
  ["nothing", () => {}, []],
  [
    "a point that is gone",
    (tx, tenant) => movePoint(tx, tenant, VAN, { before: BERLIN, after: undefined }),
    [[VAN, /not in the index/]],
  ],
  [
    "a second point of a stream",
    (tx, tenant) => movePoint(tx, tenant, VAN, { before: undefined, after: SYDNEY }),
    [[VAN, /in the index of points where its head has it not/]],
  ],
  [
    "a point of a stream that is not there",
    (tx, tenant) =>
      movePoint(tx, tenant, streamKey("van", uuid(9)), { before: undefined, after: SYDNEY }),
    [[`van:${uuid(9)}`, /in the index of points where/]],
  ],
  [
    "a stream that is kept at another point than its events say",
    async (tx, tenant) => {
      movePoint(tx, tenant, VAN, { before: BERLIN, after: SYDNEY });
      await setHead(tx, tenant, SYDNEY);
    },
    [[VAN, /another latitude than its events/], [VAN, /another longitude than its events/]],
  ],
  [
    "a head without the point that its events have",
    async (tx, tenant) => {
      movePoint(tx, tenant, VAN, { before: BERLIN, after: undefined });
      await setHead(tx, tenant, undefined);
    },
    [[VAN, /another latitude than its events/], [VAN, /another longitude than its events/]],
  ],
  [
    "a point in a cell where it is not",
    async (tx, tenant) => {
      const stray = { ...BERLIN, leaf: SYDNEY.leaf };
      movePoint(tx, tenant, VAN, { before: BERLIN, after: stray });
      await setHead(tx, tenant, stray);
    },
    [[VAN, /not in the cell under which it is kept/]],
  ],
];

for (const [name, damage, expected] of damages) {
  Deno.test(`checkStore() finds ${name}`, async () => {
    await withService(async ({ service, engine, tenants: { test } }) => {
      for (const [id, at] of [[uuid(1), SYDNEY], [uuid(2), SYDNEY], [uuid(1), BERLIN]] as const) {
        valueOf(await service.data.writeEvents(test, geoWrite("van", id, [seen(at)])));
      }
      await engine.transact(async (tx) => await damage(tx, test.number));
      const { faults } = await checkStore(engine, true);
      assert.equal(faults.length, expected.length, JSON.stringify(faults));
      for (const [index, [subject, fault]] of expected.entries()) {
        assert.equal(faults[index]!.subject, subject);
        assert.match(faults[index]!.fault, fault);
      }
    }, { spec: geoSpec });
  });
}

const BUSY_ROUNDS = 60;

/**
 * A store on a cluster: at each read another process has written. Streams begin and grow, points
 * move, anchors are made.
 */
function busy(engine: Engine, write: (round: number) => Promise<void>): Engine {
  let round = 0;
  return wrapEngine(engine, {
    capabilities: CAPABILITIES.foundationdb,
    async snapshot(body) {
      // Each new point is looked at, so writes that never stop would keep the check going.
      if (round < BUSY_ROUNDS) await write(round++);
      return await engine.snapshot(body);
    },
  });
}

async function withBusyStore(
  body: (store: {
    readonly engine: Engine;
    readonly busyEngine: Engine;
    readonly tenant: number;
  }) => Promise<void>,
): Promise<void> {
  await withService(async ({ service, engine, tenants: { test } }) => {
    const see = async (id: number, at: GeoPoint) =>
      valueOf(await service.data.writeEvents(test, geoWrite("van", uuid(id), [seen(at)])));
    for (let id = 0; id < 30; id++) await see(id, BERLIN);
    const busyEngine = busy(engine, async (round) => {
      await see(100 + round, SYDNEY);
      await see(round % 30, round % 2 === 0 ? SYDNEY : BERLIN);
      const grown = Array.from({ length: 40 }, () => seen(BERLIN));
      valueOf(await service.data.writeEvents(test, geoWrite("van", uuid(29), grown)));
      if (round % 5 === 0) await service.audit.makeAnchor(test);
    });
    await body({ engine, busyEngine, tenant: test.number });
  }, { spec: geoSpec });
}

Deno.test("checkStore() takes nothing for a fault that others write to a cluster meanwhile", async () => {
  await withBusyStore(async ({ busyEngine }) => {
    const { faults, streams } = await checkStore(busyEngine, true);
    assert.deepEqual(faults, []);
    assert.ok(streams >= 30);
  });
});

Deno.test("checkStore() finds a fault that stays, whatever others write to a cluster meanwhile", async () => {
  await withBusyStore(async ({ engine, busyEngine, tenant }) => {
    const van = streamKey("van", uuid(29));
    await engine.transact((tx) => changeHead(tx, tenant, van, { bytes: 1 }));
    const { faults } = await checkStore(busyEngine, true);
    assert.deepEqual(faults.map(({ subject }) => subject), [van]);
    assert.match(faults[0]!.fault, /another bytes than its events/);
  });
});
