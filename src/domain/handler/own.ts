/**
 * Copy on write: a fold that leaves the state that it started from as it was.
 *
 * By default a fold owns its state and changes it in place. If the evaluation has a set of owned
 * containers, an operation copies each array or object that is not in the set before it changes
 * it, puts the copy in its place and adds it to the set. The copy is shallow, so the old state and
 * the new one share everything that no event has changed. Such copies are not charged: only a fold
 * that nobody else waits for may keep the old state.
 */

import type { JsonObject, JsonValue } from "../json.ts";
import type { Evaluation } from "./evaluation.ts";
import type { Segment } from "./segments.ts";
import { type Container, putField } from "./value.ts";

/** The whole state, to be changed in place. */
export function ownState(evaluation: Evaluation): JsonObject {
  return evaluation.state = owned(evaluation, evaluation.state);
}

/** The container that `segment` leads to, to be changed in place. `parent` must be owned. */
export function ownStep<Child extends Container>(
  evaluation: Evaluation,
  parent: Container,
  segment: Segment,
  child: Child,
): Child {
  const own = owned(evaluation, child);
  if (own === child) return child;
  if (Array.isArray(parent)) parent[segment.index] = own;
  else putField(parent, segment.name as string, own);
  return own;
}

/** The element of an owned list, to be changed in place. */
export function ownElement<Child extends Container>(
  evaluation: Evaluation,
  list: JsonValue[],
  index: number,
  element: Child,
): Child {
  const own = owned(evaluation, element);
  if (own !== element) list[index] = own;
  return own;
}

function owned<Kind extends Container>({ owned }: Evaluation, container: Kind): Kind {
  if (owned === undefined || owned.has(container)) return container;
  const copy = (Array.isArray(container) ? container.slice() : { ...container }) as Kind;
  owned.add(copy);
  return copy;
}
