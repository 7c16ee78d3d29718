/** "Did you mean ...". */

import assert from "node:assert/strict";
import { didYouMean, nearestName } from "../../src/domain/nearest_name.ts";

Deno.test("nearestName() allows two edits, and one in words of up to four letters", () => {
  assert.equal(nearestName("propertes", ["properties"]), "properties");
  assert.equal(nearestName("properts", ["properties"]), "properties");
  assert.equal(nearestName("proprts", ["properties"]), undefined);
  assert.equal(nearestName("tipe", ["type"]), "type");
  assert.equal(nearestName("tpie", ["type"]), undefined);
});

Deno.test("nearestName() counts swapped neighbours as one edit and ignores case", () => {
  assert.equal(nearestName("emial", ["email", "uri"]), "email");
  assert.equal(nearestName("MAXLENGTH", ["minLength", "maxLength"]), "maxLength");
});

Deno.test("nearestName() never suggests the word itself, nor looks at long words", () => {
  assert.equal(nearestName("type", ["type"]), undefined);
  assert.equal(nearestName("a".repeat(65), ["a".repeat(64)]), undefined);
});

Deno.test("didYouMean() falls back to the other hint", () => {
  assert.equal(didYouMean("evnts", ["events"], "x"), 'Did you mean "events"?');
  assert.equal(didYouMean("zzz", ["events"], "x"), "x");
});
