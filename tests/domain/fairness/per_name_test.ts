/** Work of one name never overlaps, even if it fails; work of another name does not wait. */

import assert from "node:assert/strict";
import { openLines, openPlaces } from "../../../src/domain/fairness/per_name.ts";

Deno.test("work of one name is done in its order, also after work that fails", async () => {
  const lines = openLines();
  const done: string[] = [];
  const first = Promise.withResolvers<void>();
  const works = [
    lines.inLine("a", () => first.promise.then(() => done.push("first"))),
    lines.inLine("a", () => Promise.reject(new Error("fails"))),
    lines.inLine("a", () => Promise.resolve(done.push("third"))),
  ];
  await lines.inLine("b", () => Promise.resolve(done.push("other")));
  first.resolve();
  const ends = await Promise.allSettled(works);
  assert.deepEqual(ends.map(({ status }) => status), ["fulfilled", "rejected", "fulfilled"]);
  assert.deepEqual(done, ["other", "first", "third"]);
});

Deno.test("a name has so many places and no more, whatever others have", () => {
  const places = openPlaces(2);
  assert.deepEqual([1, 2, 3].map(() => places.enter("a")), [true, true, false]);
  assert.equal(places.enter("b"), true);
  places.leave("a");
  assert.deepEqual([1, 2].map(() => places.enter("a")), [true, false]);
});

Deno.test("places that all have left are all there again", () => {
  const places = openPlaces(1);
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(places.enter("a"), true);
    places.leave("a");
  }
});

Deno.test("openPlaces() caps all names together too, and gives back what leaves", () => {
  const places = openPlaces(2, 3);
  assert.deepEqual(["a", "a", "a", "b", "b", "c"].map(places.enter), [
    true,
    true,
    false,
    true,
    false,
    false,
  ]);
  places.leave("a");
  assert.deepEqual([places.enter("c"), places.enter("a")], [true, false]);
});
