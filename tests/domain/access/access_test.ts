/** The tiers of docs/reference/limits.md, and the one for running it oneself. */

import { deepEqual } from "node:assert/strict";
import { TIERS } from "../../../src/domain/access/access.ts";

Deno.test("TIERS are the four of the reference and `unlimited`", () => {
  deepEqual(TIERS, ["free", "hobby", "pro", "scale", "unlimited"]);
});
