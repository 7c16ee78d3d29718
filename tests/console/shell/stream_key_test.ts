/** A key of a stream has its type before the first colon, for ids may have one, too. */

import assert from "node:assert/strict";
import { halvesOf } from "../../../console/src/shell/stream_key.ts";

const TAGGED = "6f1f7f7e-7f3c-4b44-9d3c-2f1f7f7e7f3c:eu";

Deno.test("halvesOf() takes a key apart at its first colon", () => {
  assert.deepEqual(halvesOf("order:7KD2M9QXA"), { type: "order", id: "7KD2M9QXA" });
  assert.deepEqual(halvesOf(`order:${TAGGED}`), { type: "order", id: TAGGED });
});
