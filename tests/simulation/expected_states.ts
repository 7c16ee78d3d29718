/** The states of `world_spec.ts` after some events, implemented a second time. */

import type { StoredEvent } from "../../src/domain/event.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { SpecNumber } from "./world_spec.ts";

export function stateAfter(
  events: readonly Pick<StoredEvent, "type" | "data">[],
  spec: SpecNumber,
): JsonObject {
  if (events.length === 0) return {};
  const seen = events.map(({ type, data }) => (
    { type, n: data.n ?? null, of: data.of ?? null, spec }
  ));
  return { seen };
}
