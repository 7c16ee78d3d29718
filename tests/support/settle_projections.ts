/** Does all background work of a service's projections, without the service's loops. */

import assert from "node:assert/strict";
import type { Service } from "../../src/features/service.ts";

const ROUNDS_MAX = 1_000;

/** Runs until nothing is left to do: all versions are built and include everything written. */
export async function settleProjections(
  { projections }: Pick<Service, "projections">,
): Promise<void> {
  for (let idle = 0, round = 0; idle < 2; round++) {
    assert.ok(round < ROUNDS_MAX, "there is always more to do");
    const done = await projections.keepProjections(100) + await projections.buildProjections();
    idle = done === 0 ? idle + 1 : 0;
  }
}
