/** Which texts of an address are the number of an event. */

import assert from "node:assert/strict";
import { eventIndexOf } from "../../../console/src/streams/event_index.ts";

Deno.test("only a whole number from 0 names an event", () => {
  assert.equal(eventIndexOf("0"), 0);
  assert.equal(eventIndexOf("99999"), 99_999);
  for (const text of ["", "abc", "1.5", "-1", "1e3", " 1", "0x1", "9".repeat(20)]) {
    assert.equal(eventIndexOf(text), undefined, text);
  }
});
