/**
 * The rows of a list of any length: each can be reached, by the thumb near it and by wheel or keys
 * exactly, in a space that browsers can draw. The element that scrolls is played by a number.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  driftOf,
  type Extent,
  moved,
  mustSettle,
  offsetAt,
  offsetToShow,
  type Position,
  scrollAt,
  SPACE_PX_MAX,
  spacePxOf,
  visibleRows,
} from "../../../console/src/parts/row_places.ts";

const START: Position = { scrollPx: 0, offsetPx: 0 };
/** What all of Firefox's elements end at. */
const FIREFOX_PX_MAX = 17_895_697;

const anyList = fc.record({
  count: fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 100_000_000 })),
  rowPx: fc.integer({ min: 20, max: 80 }),
  viewPx: fc.integer({ min: 100, max: 2_000 }),
});

function extentOf(list: { count: number; rowPx: number; viewPx: number }): Extent {
  const spacePx = spacePxOf(list);
  return {
    reachPx: Math.max(0, spacePx - list.viewPx),
    hiddenPx: list.count * list.rowPx - spacePx,
    viewPx: list.viewPx,
  };
}

/** An element that is scrolled by wheel and keys, as a browser does it. */
function openElement(extent: Extent, start: Position) {
  let position = start;
  const settle = () => {
    position = { ...position, scrollPx: scrollAt(position.offsetPx, extent) };
  };
  return {
    now: () => position,
    settle,
    scrollTo(toPx: number) {
      const scrollPx = Math.max(0, Math.min(toPx, extent.reachPx));
      position = moved(position, scrollPx, extent);
      if (mustSettle(position, extent)) settle();
    },
  };
}

Deno.test("spacePxOf() is the height of all rows, or what every browser can draw", () => {
  assert.equal(spacePxOf({ count: 100_000, rowPx: 40 }), 4_000_000);
  assert.equal(spacePxOf({ count: 10_000_000, rowPx: 40 }), SPACE_PX_MAX);
  assert.ok(SPACE_PX_MAX < FIREFOX_PX_MAX);
});

Deno.test("offsetAt() begins at the first row, ends at the last one, and rises between them", () => {
  fc.assert(
    fc.property(anyList, fc.array(fc.double({ min: 0, max: 1, noNaN: true })), (list, at) => {
      const extent = extentOf(list);
      const allPx = list.count * list.rowPx;
      assert.equal(offsetAt(0, extent), 0);
      assert.equal(offsetAt(extent.reachPx, extent), Math.max(0, allPx - list.viewPx));
      const scrolls = at.map((part) => part * extent.reachPx).toSorted((a, b) => a - b);
      for (const [index, scrollPx] of scrolls.entries()) {
        const offsetPx = offsetAt(scrollPx, extent);
        if (index > 0) assert.ok(offsetPx >= offsetAt(scrolls[index - 1]!, extent));
        assert.ok(Math.abs(scrollAt(offsetPx, extent) - scrollPx) < 1e-6);
      }
    }),
  );
});

Deno.test("offsetAt() is where the element has scrolled if no row is without its space", () => {
  const extent = { reachPx: 3_999_400, hiddenPx: 0, viewPx: 600 };
  for (const px of [0, 1, 99_999, 2_000_000.5, 3_999_400]) assert.equal(offsetAt(px, extent), px);
});

Deno.test("the thumb maps proportionally, within 2 % of its way", () => {
  const list = { count: 3_000_000, rowPx: 40, viewPx: 600 };
  const extent = extentOf(list);
  for (let part = 0; part <= 1; part += 1 / 64) {
    const offsetPx = offsetAt(part * extent.reachPx, extent);
    assert.ok(Math.abs(offsetPx / (list.count * list.rowPx - list.viewPx) - part) < 0.02);
  }
});

Deno.test("offsetToShow() shows every row, whole, at a place that the element can scroll to", () => {
  const property = fc.property(
    anyList,
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.double({ min: 0, max: 1, noNaN: true }),
    (list, part, before) => {
      const extent = extentOf(list);
      const index = Math.min(list.count - 1, Math.floor(part * list.count));
      const scrollPx = before * extent.reachPx;
      const from = { scrollPx, offsetPx: offsetAt(scrollPx, extent) };
      const offsetPx = offsetToShow(index, from, extent, list.rowPx);
      const wanted = scrollAt(offsetPx, extent);
      assert.ok(wanted >= 0 && wanted <= extent.reachPx);
      assert.ok(Math.abs(offsetAt(wanted, extent) - offsetPx) < 1e-3);
      assert.ok(offsetPx <= index * list.rowPx);
      assert.ok((index + 1) * list.rowPx <= offsetPx + list.viewPx);
      const { first, last } = visibleRows(list, { scrollPx: wanted, offsetPx }, list.viewPx, 0);
      assert.ok(first <= index && index <= last);
    },
  );
  fc.assert(property);
});

Deno.test("wheel and keys move the rows by as much as the element, wherever the thumb is", () => {
  const property = fc.property(
    anyList,
    fc.double({ min: 0, max: 1, noNaN: true }),
    fc.array(fc.integer({ min: -600, max: 600 }), { maxLength: 200 }),
    fc.func(fc.boolean()),
    (list, part, moves, isPause) => {
      const extent = extentOf(list);
      const mostPx = extent.reachPx + extent.hiddenPx;
      const element = openElement(extent, START);
      element.scrollTo(part * extent.reachPx);
      element.settle();
      let expected = element.now().offsetPx;
      for (const [index, byPx] of moves.entries()) {
        element.scrollTo(element.now().scrollPx + byPx);
        expected = Math.max(0, Math.min(expected + byPx, mostPx));
        assert.ok(Math.abs(element.now().offsetPx - expected) < 1e-3);
        if (isPause(index)) element.settle();
      }
    },
  );
  fc.assert(property);
});

Deno.test("a wheel that never rests comes to the first row and to the last one", () => {
  const list = { count: 1_000_000, rowPx: 40, viewPx: 600 };
  const extent = extentOf(list);
  const lastPx = list.count * list.rowPx - list.viewPx;
  const element = openElement(extent, START);
  for (const [fromPx, byPx, endPx] of [[400_000, -500, 0], [lastPx - 400_000, 500, lastPx]]) {
    element.scrollTo(scrollAt(fromPx!, extent));
    assert.ok(Math.abs(element.now().offsetPx - fromPx!) < 1);
    let offsetPx = element.now().offsetPx;
    for (let turns = 0; turns < 1_000; turns++) {
      element.scrollTo(element.now().scrollPx + byPx!);
      // No row is jumped over.
      assert.ok(Math.abs(element.now().offsetPx - offsetPx) <= 500.001);
      ({ offsetPx } = element.now());
    }
    assert.equal(offsetPx, endPx);
    assert.ok(driftOf(element.now(), extent) < 1);
  }
});

Deno.test("visibleRows() ends with the list, and has no row of none", () => {
  const at = { scrollPx: 0, offsetPx: 3_999_400 };
  const list = { count: 100_000, rowPx: 40 };
  assert.deepEqual(visibleRows(list, at, 600, 8), { first: 99_977, last: 99_999 });
  assert.deepEqual(visibleRows(list, START, 600, 8), { first: 0, last: 22 });
  assert.deepEqual(visibleRows({ count: 0, rowPx: 40 }, START, 600, 8), { first: 0, last: -1 });
});
