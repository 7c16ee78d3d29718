/** States as tests compare them. */

import type { AggregateView } from "../../src/domain/reading.ts";
import type { StateJson } from "../../src/store/streams/state_parts.ts";

/** The text of a state, also of a long one. */
export function stateText(state: StateJson): string {
  return typeof state === "string" ? state : new TextDecoder().decode(state);
}

/** The state of a view. */
// deno-lint-ignore no-explicit-any -- a test says what it expects of the state
export function parsedState({ dataJson }: Pick<AggregateView, "dataJson">): any {
  return JSON.parse(stateText(dataJson));
}
