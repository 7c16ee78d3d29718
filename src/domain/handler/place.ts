/**
 * The one key or element an operation writes: a static target, or a key that a template gives.
 *
 * `set` writes to a static target, `set_at` to a key of its target. See
 * docs/reference/expressions.md.
 *
 * If `key` does not evaluate to a string, the operation does nothing. If the target of a keyed
 * operation is an array, a key of digits is an index.
 */

import { spend } from "../budget.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { nameSegment, type Segment } from "./segments.ts";
import { accepts, openContainer, type Target } from "./target.ts";
import { templateAt } from "./template.ts";
import { addFault, childSite, type Evaluation, type Site, type Template } from "./evaluation.ts";
import { type Container } from "./value.ts";

export interface Place {
  /** The level a container written here would have. */
  readonly level: number;
  /** The last step; undefined if this event gives none. */
  readonly segmentOf: (evaluation: Evaluation) => Segment | undefined;
  /** The steps to the container that the last step is taken in. */
  readonly parents: readonly Segment[];
}

/** The place a target names; undefined for the whole state, which has no container. */
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

/** True for a path, a string or an operator; false for a value that can never be a string. */
function mayGiveString(key: JsonValue): boolean {
  // Bounded: the keys of one template in a definition.
  if (isJsonObject(key)) return Object.keys(key).some((name) => name.startsWith("$"));
  return typeof key === "string";
}

function keySegment(template: Template): Place["segmentOf"] {
  return (evaluation) => {
    const name = template.view(evaluation);
    if (typeof name !== "string") return undefined;
    // Looking up a key reads all of its characters.
    spend(evaluation.budget, name.length);
    return nameSegment(name);
  };
}

/** Opens the container of a place, creating missing parents; undefined if it cannot be written. */
export function openForWriting(
  evaluation: Evaluation,
  place: Place,
  segment: Segment,
): Container | undefined {
  const container = openContainer(evaluation, place.parents, segment);
  return container !== undefined && accepts(container, segment) ? container : undefined;
}

/** The container of the place, if it exists. */
export function openExisting(evaluation: Evaluation, place: Place): Container | undefined {
  return openContainer(evaluation, place.parents, undefined);
}
