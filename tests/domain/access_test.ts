/**
 * The tiers with published limits, and the one for self-hosting. See docs/reference/limits.md.
 */

import { deepEqual } from "node:assert/strict";
import { TIERS } from "../../src/domain/access.ts";

Deno.test("TIERS are the four of the contract and `unlimited`", () => {
  deepEqual(TIERS, ["free", "hobby", "pro", "scale", "unlimited"]);
});
