/** What stays in the browser after a session, as the names of what it keeps tell. */

import assert from "node:assert/strict";
import { keptAmong } from "../../../console/src/shell/kept_here.ts";
import { nameOfPins } from "../../../console/src/shell/pins.ts";

Deno.test("notebooks and pins are told apart, each once, and the theme is not worth a word", () => {
  const pins = nameOfPins({ instanceId: "i1", environment: "test" });
  const notebooks = ["daybook.notebook.i1.test", "daybook.notebook.i2.test"];
  assert.deepEqual(keptAmong(["daybook.theme", "other"]), []);
  assert.deepEqual(keptAmong([pins]), ["pinned keys"]);
  assert.deepEqual(keptAmong([pins, ...notebooks]), ["SQL notebooks", "pinned keys"]);
});
