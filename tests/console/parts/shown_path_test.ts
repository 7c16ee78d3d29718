/** Names of members and paths as text: what is data in them is seen to be. */

import assert from "node:assert/strict";
import { shownName, shownPath } from "../../../console/src/parts/shown_path.ts";

Deno.test("a word stands for itself, and every other name is quoted", () => {
  for (const name of ["status", "__proto__", "was_placed", 0]) {
    assert.equal(shownName(name), String(name));
  }
  assert.equal(shownName(""), '""');
  assert.equal(shownName("a.b"), '"a.b"');
  assert.equal(shownName('status: "paid'), String.raw`"status: \"paid"`);
  assert.equal(shownName("a\nb"), String.raw`"a\nb"`);
  assert.equal(shownName("\u202edaip"), String.raw`"\u202edaip"`);
  assert.equal(shownName("Größe"), '"Größe"');
});

Deno.test("a long name is shown by its beginning", () => {
  assert.equal(shownName("x".repeat(1_000_000)), `${"x".repeat(100)}…`);
  assert.equal(shownName(" ".repeat(1_000_000)), `"${" ".repeat(100)}"…`);
});

Deno.test("a path says which dots are of its names, and the middle of a long one is left out", () => {
  assert.equal(shownPath([]), "the state");
  assert.equal(shownPath([""]), '""');
  assert.equal(shownPath(["items", 3, "unit.price"]), 'items.3."unit.price"');
  const long = Array.from({ length: 1000 }, (_, at) => at);
  assert.equal(shownPath(long), "0.1.2.3.….992.993.994.995.996.997.998.999");
});
