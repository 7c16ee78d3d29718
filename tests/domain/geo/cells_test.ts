/** Cells contain their points, children fill their parents, circles fit into the cells around. */

import assert from "node:assert/strict";
import geodesic from "geographiclib-geodesic";
import {
  cellsAround,
  centerOf,
  childrenOf,
  distanceToCell,
  geoPlaceOf,
  isLeaf,
  leavesOf,
} from "../../../src/domain/geo/cells.ts";
import { createRandom } from "../../crash/random.ts";
import { geoWorld, haversine } from "../../support/geo_oracle.ts";

const sphere = new geodesic.Geodesic.Geodesic(6_371_008.8, 0);

function isIn(leaf: bigint, cell: bigint): boolean {
  const { from, to } = leavesOf(cell);
  return leaf >= from && leaf < to;
}

Deno.test("childrenOf() fill their parent, in the order of their leaves, down to one leaf", () => {
  let cells = cellsAround(centerOf({ lat: 52.5, lng: 13.4 }), 100_000);
  for (let level = 0; !isLeaf(cells[0]!); level++) {
    const [cell] = cells;
    const { from, to } = leavesOf(cell!);
    const children = childrenOf(cell!);
    assert.equal(children.length, 4);
    let at = from;
    for (const child of children) {
      assert.equal(leavesOf(child).from, at);
      at = leavesOf(child).to;
    }
    assert.equal(at, to);
    assert.ok(level < 30);
    cells = children;
  }
});

Deno.test("cellsAround() hold each point of the circle, also at poles and the antimeridian", () => {
  const random = createRandom(11);
  const world = geoWorld(random);
  for (let run = 0; run < 3_000; run++) {
    const centre = random.chance(0.5) ? world.spot() : world.near(world.spot());
    const radius = world.radius();
    const cells = cellsAround(centerOf(centre), radius);
    assert.ok(cells.length <= 4);
    for (let bearing = 0; bearing < 360; bearing += 45) {
      const { lat2, lon2 } = sphere.Direct(centre.lat, centre.lng, bearing, radius);
      const { leaf } = geoPlaceOf({ lat: lat2!, lng: lon2! });
      assert.ok(
        cells.some((cell) => isIn(leaf, cell)),
        JSON.stringify({ centre, radius, bearing }),
      );
    }
  }
});

Deno.test("distanceToCell() is never more than the distance to a point in the cell", () => {
  const random = createRandom(12);
  const world = geoWorld(random);
  for (let run = 0; run < 5_000; run++) {
    const from = world.spot();
    const to = world.near(from);
    let cells = cellsAround(centerOf(to), world.radius());
    for (let level = 0; level < 30; level++) {
      const cell = cells.find((each) => isIn(geoPlaceOf(to).leaf, each))!;
      const distance = distanceToCell(centerOf(from), cell);
      assert.ok(distance <= haversine(from, to) + 1e-3, JSON.stringify({ from, to, level }));
      if (isLeaf(cell)) break;
      cells = childrenOf(cell);
    }
  }
});

Deno.test("distanceToCell() of a point's own leaf is less than its size", () => {
  const world = geoWorld(createRandom(13));
  for (let run = 0; run < 2_000; run++) {
    const spot = world.near(world.spot());
    assert.ok(distanceToCell(centerOf(spot), geoPlaceOf(spot).leaf) < 0.02);
  }
});
