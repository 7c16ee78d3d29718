/** Runs a world and reports everything that is wrong with it. */

import type { Census } from "./census.ts";
import { checkAnchors } from "./check_anchors.ts";
import { checkDeliveries } from "./check_deliveries.ts";
import { checkImplied } from "./check_implied.ts";
import { checkReads } from "./check_reads.ts";
import { checkRemains } from "./check_remains.ts";
import { checkSagas } from "./check_sagas.ts";
import { checkSchedules } from "./check_schedules.ts";
import { checkProjections } from "./check_projections.ts";
import { checkWrites } from "./check_writes.ts";
import { gatherEvidence } from "./evidence.ts";
import type { Weather } from "./weather.ts";
import { type EndedWorld, runWorld } from "./world.ts";

export interface Verdict {
  /** Undefined if the world did not come to an end. */
  readonly world: EndedWorld | undefined;
  readonly faults: readonly string[];
}

/** Never throws: anything a world throws is one of its faults. */
export async function judgeWorld(
  seed: number,
  census: Census,
  weather?: Weather,
): Promise<Verdict> {
  let world: EndedWorld | undefined;
  try {
    world = await runWorld(seed, census, weather);
    const evidence = gatherEvidence(world);
    const { retries, parked } = evidence;
    census.count("entries tried again after a failure", retries);
    const { poison } = world.weather;
    if (poison === "passing" && retries > 0) census.count("entries poisoned for a while");
    if (poison === "lasting" && parked.length > 0) census.count("entries poisoned for ever");
    const faults = [
      ...evidence.faults,
      ...checkWrites(evidence, census),
      ...checkImplied(evidence, census),
      ...checkSchedules(evidence, census),
      ...checkSagas(evidence, census),
      ...checkReads(evidence, census),
      ...checkDeliveries(evidence, census),
      ...checkAnchors(evidence, census),
      ...await checkProjections(evidence, census),
      ...checkRemains(evidence),
    ];
    return { world, faults };
  } catch (error) {
    const { stack, message } = error as Error;
    return { world, faults: [stack ?? message] };
  }
}
