/** Cursors of the feed as text. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  BEFORE_EVERYTHING,
  type FeedPosition,
  formatCursor,
  parseCursor,
  WHOLE_RECORD,
} from "../../../src/domain/feed/place.ts";

const CHECK = "0badcafe";

function hex(length: number): fc.Arbitrary<string> {
  const unit = fc.constantFrom(..."0123456789abcdef");
  return fc.string({ unit, minLength: length, maxLength: length });
}

const positions: fc.Arbitrary<FeedPosition> = fc.record(
  { place: hex(28), offset: fc.nat({ max: WHOLE_RECORD }) },
  { noNullPrototype: true },
);

Deno.test("a cursor is read as it was written, and only by the feed that it is of", () => {
  fc.assert(fc.property(positions, hex(8), (position, check) => {
    const cursor = formatCursor(position, check);
    assert.match(cursor, /^[0-9A-Za-z_-]{1,64}$/);
    assert.deepEqual(parseCursor(cursor, check), position);
    if (check !== CHECK) assert.equal(parseCursor(cursor, CHECK), undefined);
  }));
});

Deno.test("cursors sort bytewise as their places and offsets do", () => {
  fc.assert(fc.property(positions, positions, (a, b) => {
    const order = (first: FeedPosition, second: FeedPosition) =>
      first.place === second.place
        ? first.offset - second.offset
        : first.place < second.place
        ? -1
        : 1;
    const [left, right] = [formatCursor(a, CHECK), formatCursor(b, CHECK)];
    assert.equal(left < right, order(a, b) < 0);
  }));
});

Deno.test("nothing else is a cursor", () => {
  const cursor = formatCursor(BEFORE_EVERYTHING, CHECK);
  for (
    const text of ["", "start", cursor.slice(1), `${cursor}0`, cursor.toUpperCase(), "x".repeat(40)]
  ) {
    assert.equal(parseCursor(text, CHECK), undefined, text);
  }
});
