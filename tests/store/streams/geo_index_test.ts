/** The index of points: the content of a cell, in order, from any place on. */

import assert from "node:assert/strict";
import { cellsAround, centerOf, childrenOf, geoPlaceOf } from "../../../src/domain/geo/cells.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  movePoint,
  pointBytes,
  readPoints,
  walkPoints,
} from "../../../src/store/streams/geo_index.ts";
import { keys } from "../../../src/store/keys.ts";
import { createRandom } from "../../crash/random.ts";
import { geoWorld, type NamedSpot, type Spot } from "../../support/geo_oracle.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;

function put(engine: Engine, spots: readonly NamedSpot[], type = "van", tenant = TENANT) {
  return engine.transact((tx) => {
    for (const { id, ...spot } of spots) {
      movePoint(tx, tenant, streamKey(type, id), { before: undefined, after: geoPlaceOf(spot) });
    }
    return Promise.resolve();
  });
}

async function all(engine: Engine) {
  const { points } = await engine.snapshot((tx) => walkPoints(tx, TENANT, undefined, 1_000));
  return points.map(({ type, id, place: { lat, lng } }) => ({ type, id, lat, lng }));
}

Deno.test("readPoints() of four cells gives all points in them, of that type and tenant", async () => {
  await withTemporaryEngine(async (engine) => {
    const world = geoWorld(createRandom(3));
    for (const centre of [{ lat: 90, lng: 0 }, { lat: 0, lng: 180 }, { lat: 52.52, lng: 13.405 }]) {
      const name = `${centre.lat}`;
      const spots = Array.from(
        { length: 60 },
        (_, index) => ({ id: `${index}`, ...world.near(centre) }),
      );
      await put(engine, spots, `van_${name.replace(".", "_")}`);
      await put(engine, spots, "other");
      await put(engine, spots, `van_${name.replace(".", "_")}`, 2);
      const type = `van_${name.replace(".", "_")}`;
      for (const radius of [5, 1_000, 90_000]) {
        const cells = cellsAround(centerOf(centre), radius);
        const found = await engine.snapshot(async (tx) =>
          (await Promise.all(
            cells.map((cell) => readPoints(tx, TENANT, { type, area: { cell }, limit: 100 })),
          ))
            .flat()
        );
        const ids = new Set(found.map(({ id }) => id));
        assert.equal(ids.size, found.length, "none twice");
        for (const { id, place } of found) {
          const { lat, lng } = spots[Number(id)]!;
          assert.deepEqual(place, geoPlaceOf({ lat, lng }));
        }
        const children = cells.flatMap((cell) => childrenOf(cell));
        const again = await engine.snapshot(async (tx) =>
          (await Promise.all(
            children.map((cell) => readPoints(tx, TENANT, { type, area: { cell }, limit: 100 })),
          ))
            .flat()
        );
        assert.deepEqual(again, found, "children hold what their parents hold, in the same order");
      }
    }
  });
});

Deno.test("readPoints() goes on behind a point, and behind all at one point", async () => {
  await withTemporaryEngine(async (engine) => {
    const at: Spot = { lat: -33.5, lng: 0 };
    const beside: Spot = { lat: -33.5, lng: 1e-12 };
    await put(engine, ["a", "b", "c"].map((id) => ({ id, ...at })));
    await put(engine, ["a2", "d"].map((id) => ({ id, ...beside })));
    const place = geoPlaceOf(at);
    // The leaf alone holds both points.
    const read = async (after?: { readonly id?: string }) => {
      const area = { cell: place.leaf, ...(after && { after: { place, ...after } }) };
      const points = await engine.snapshot((tx) =>
        readPoints(tx, TENANT, { type: "van", area, limit: 10 })
      );
      return points.map(({ id }) => id);
    };
    assert.deepEqual(await read(), ["a", "b", "c", "a2", "d"]);
    assert.deepEqual(await read({ id: "b" }), ["c", "a2", "d"]);
    assert.deepEqual(await read({}), ["a2", "d"]);
  });
});

Deno.test("movePoint() leaves one point of a stream, and none when it is taken away", async () => {
  await withTemporaryEngine(async (engine) => {
    const stream = streamKey("van", "global");
    const [a, b] = [geoPlaceOf({ lat: 1, lng: 2 }), geoPlaceOf({ lat: 3, lng: 4 })];
    const move = (...[before, after]: [typeof a | undefined, typeof a | undefined]) =>
      engine.transact((tx) => Promise.resolve(movePoint(tx, TENANT, stream, { before, after })));
    await move(undefined, a);
    assert.deepEqual(await all(engine), [{ type: "van", id: "global", lat: 1, lng: 2 }]);
    await move(a, b);
    assert.deepEqual(await all(engine), [{ type: "van", id: "global", lat: 3, lng: 4 }]);
    await move(b, geoPlaceOf({ lat: 3, lng: 4 }));
    assert.deepEqual(await all(engine), [{ type: "van", id: "global", lat: 3, lng: 4 }]);
    await move(b, undefined);
    assert.deepEqual(await all(engine), []);
  });
});

Deno.test("movePoint() writes nothing where a stream stays at its point", async () => {
  await withTemporaryEngine(async (engine) => {
    const place = geoPlaceOf({ lat: 1, lng: 2 });
    await engine.transact((tx) => {
      movePoint(tx, TENANT, streamKey("van", "global"), {
        before: place,
        after: geoPlaceOf({ lat: 1, lng: 2 }),
      });
      movePoint(tx, TENANT, streamKey("van", "global"), { before: undefined, after: undefined });
      return Promise.resolve();
    });
    assert.deepEqual(await all(engine), []);
  });
});

Deno.test("walkPoints() gives all points of all types in pages", async () => {
  await withTemporaryEngine(async (engine) => {
    const spots = Array.from({ length: 7 }, (_, index) => ({ id: `${index}`, lat: index, lng: 0 }));
    await put(engine, spots);
    await put(engine, spots, "shop");
    const seen: string[] = [];
    let after: Uint8Array<ArrayBuffer> | undefined;
    for (;;) {
      const { points, last } = await engine.snapshot((tx) => walkPoints(tx, TENANT, after, 4));
      if (last === undefined) break;
      seen.push(...points.map(({ type, id }) => `${type}:${id}`));
      after = last;
    }
    assert.equal(new Set(seen).size, 14);
  });
});

Deno.test("pointBytes() is not less than what two moves of a point count", () => {
  for (const id of ["global", "x".repeat(255), "\u{10000}".repeat(120)]) {
    const stream = streamKey("a".repeat(64), id);
    const zeros = new Uint8Array(24);
    const key = keys.geoPoint(2 ** 31, "a".repeat(64), zeros, id);
    assert.ok(
      pointBytes(stream) >= 2 * (4 * key.length + 2),
      `${pointBytes(stream)} ${key.length}`,
    );
  }
});
