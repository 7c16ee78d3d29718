/**
 * The one key or element that an operation writes: a static target (`set`), or a key of the target
 * that a template gives (`set_at`). Decisions, section 9.
 *
 * A `key` that is no string when it runs has the wrong type: the operation does nothing. Where the
 * target of a keyed operation is an array, a key of digits is an index.
 */

import { spend } from "../budget.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { addFault, childSite, type Evaluation, type Site } from "./evaluation.ts";
import { nameSegment, type Segment } from "./segments.ts";
import { accepts, openContainer, type Target } from "./target.ts";
import { type Template, templateAt } from "./template.ts";
import { type Container } from "./value.ts";

export interface Place {
  /** The level of a container written there. */
  readonly level: number;
  /** The last step; undefined where there is none for this event. */
  readonly segmentOf: (evaluation: Evaluation) => Segment | undefined;
  /** The steps to the container in which the last step is taken. */
  readonly parents: readonly Segment[];
}

/** The place a target names; undefined for the whole state, which is no part of anything. */
export function staticPlace(target: Target): Place | undefined {
  const last = target.segments.at(-1);
  if (last === undefined) return undefined;
  const parents = target.segments.slice(0, -1);
  return { level: target.level, segmentOf: () => last, parents };
}

/** The place `target[key]`. */
export function keyedPlace(target: Target, key: JsonValue, site: Site): Place {
  const template = templateAt(key, childSite(site, "key"));
  if (!mayGiveString(key)) {
    addFault(
      childSite(site, "key"),
      "key_invalid",
      "The key is not a string",
      'Write a text or a path that gives one, e.g. "$.data.sku"',
    );
  }
  return {
    level: target.level + 1,
    segmentOf: keySegment(template),
    parents: target.segments,
  };
}

/** A path, a text or an operator; false for what is another kind of value whatever the event. */
function mayGiveString(key: JsonValue): boolean {
  // Bounded: the keys of one template in a definition.
  if (isJsonObject(key)) return Object.keys(key).some((name) => name.startsWith("$"));
  return typeof key === "string";
}

function keySegment(template: Template): Place["segmentOf"] {
  return (evaluation) => {
    const name = template.view(evaluation);
    if (typeof name !== "string") return undefined;
    // Looking up a key reads all of it.
    spend(evaluation.budget, name.length);
    return nameSegment(name);
  };
}

/** The container of the place, missing parents created; undefined where nothing can be written. */
export function openForWriting(
  evaluation: Evaluation,
  place: Place,
  segment: Segment,
): Container | undefined {
  const container = openContainer(evaluation, place.parents, segment);
  return container !== undefined && accepts(container, segment) ? container : undefined;
}

/** The container of the place, where there is one. */
export function openExisting(evaluation: Evaluation, place: Place): Container | undefined {
  return openContainer(evaluation, place.parents, undefined);
}
