/**
 * Operations on the array at a target: `append`, `filter`, `map`, `upsert` and their relatives.
 *
 * The others are `append_unique`, `remove` with a `where`, and `update_where`. See
 * docs/reference/handlers.md.
 *
 * - `append`, `append_unique` and `upsert` treat a missing or null target as `[]`. The others
 *   find nothing to change there. If the target has another type, nothing happens.
 * - `map` and `update_where` compute all new values from the state as it was before the
 *   operation, and only then store them. If an optional path is missing for one element, the
 *   whole operation is skipped.
 * - `key` names a field of the elements (a dotted path inside them). If the value or an element
 *   lacks that field, the two are different; an explicit null equals another null.
 * - `upsert` requires an object as its value and merges it, shallowly, into the first matching
 *   object.
 * - `update_where` merges an object shallowly into a matching object; in every other case it
 *   replaces the element.
 */

import { spend } from "../budget.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { SLOT_UNITS, STEP_UNITS } from "./budget.ts";
import { compileRemoveKey, fieldOr, staticPlaceOf, templateOf } from "./field_operations.ts";
import { bindingNameAt, checkFields, doNothing, type Operation } from "./operation.ts";
import { ownElement, ownStep } from "./own.ts";
import { readStep, walker } from "./path.ts";
import { openExisting, openForWriting, type Place } from "./place.ts";
import { fieldPathAt, writeStep } from "./target.ts";
import { templateAt } from "./template.ts";
import {
  childSite,
  type Evaluation,
  nextSlot,
  type Site,
  type Template,
  withNames,
} from "./evaluation.ts";
import { equalValues, isObject, moveFields } from "./value.ts";
import { ITEM_NAME, type Matcher, whereAt } from "./where.ts";

/** Reads the field that identifies an element; undefined if the element lacks it. */
type KeyOf = (element: JsonValue, evaluation: Evaluation) => JsonValue | undefined;

export function compileAppend(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "value"], [], site);
  const place = staticPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  return complete && place !== undefined ? pushing(place, value, () => true) : doNothing;
}

export function compileAppendUnique(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "value"], ["key"], site);
  const place = staticPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  const key = Object.hasOwn(fields, "key") ? keyOfAt(fields, site) : undefined;
  if (!complete || place === undefined) return doNothing;
  return pushing(place, value, (element, list, evaluation) => {
    return !list.some((other) => isSame(other, element, key, evaluation));
  });
}

export function compileUpsert(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "key", "value"], [], site);
  const place = staticPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  const key = keyOfAt(fields, site);
  if (!complete || place === undefined) return doNothing;
  return pushing(place, value, (element, list, evaluation) => {
    if (!isObject(element)) return false;
    const index = list.findIndex((other) => hasSameKey(other, element, key, evaluation));
    const match = list[index];
    if (!isObject(match)) return true;
    moveFields(ownElement(evaluation, list, index, match), element, evaluation.budget);
    return false;
  });
}

/** `remove` in both forms: elements of an array with a `where`, a key without one. */
export function compileRemove(fields: JsonObject, site: Site): Operation {
  if (!checkFields(fields, ["target"], ["where"], site)) return doNothing;
  if (!Object.hasOwn(fields, "where")) return compileRemoveKey(fields, site);
  const place = staticPlaceOf(fields, site);
  const where = whereAt(fieldOr(fields, "where", null), childSite(site, "where"));
  return place === undefined ? doNothing : keeping(place, where, false);
}

export function compileFilter(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "where"], [], site);
  const place = staticPlaceOf(fields, site);
  if (!complete) return doNothing;
  const where = whereAt(fieldOr(fields, "where", null), childSite(site, "where"));
  return place === undefined ? doNothing : keeping(place, where, true);
}

export function compileMap(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "value"], ["as"], site);
  const place = staticPlaceOf(fields, site);
  const name = bindingNameAt(fieldOr(fields, "as", ITEM_NAME), childSite(site, "as"));
  const slot = nextSlot(site.scope);
  const named = withNames(site, [name ?? ITEM_NAME]);
  const value = templateAt(fieldOr(fields, "value", null), childSite(named, "value"));
  if (!complete || place === undefined) return doNothing;
  const element = { template: value, slot, level: place.level + 1 };
  return (evaluation) => {
    const list = listAt(evaluation, place);
    if (list === undefined) return;
    const built = buildEach(element, list, undefined, evaluation);
    if (built === undefined) return;
    // Bounded: `buildEach` has charged each element.
    for (const [index, each] of built.entries()) list[index] = each as JsonValue;
  };
}

export function compileUpdateWhere(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "where", "value"], [], site);
  const place = staticPlaceOf(fields, site);
  const slot = nextSlot(site.scope);
  const named = withNames(site, [ITEM_NAME]);
  const value = templateAt(fieldOr(fields, "value", null), childSite(named, "value"));
  if (!complete) return doNothing;
  const where = whereAt(fieldOr(fields, "where", null), childSite(site, "where"));
  if (place === undefined) return doNothing;
  const element = { template: value, slot, level: place.level + 1 };
  return (evaluation) => {
    const list = listAt(evaluation, place);
    const matches = list && where(list, evaluation);
    if (list === undefined || matches === undefined) return;
    const built = buildEach(element, list, matches, evaluation);
    if (built === undefined) return;
    for (const [index, each] of built.entries()) {
      if (each !== undefined) update(evaluation, list, index, each);
    }
  };
}

function update(
  evaluation: Evaluation,
  list: JsonValue[],
  index: number,
  value: JsonValue,
): void {
  const element = list[index];
  if (isObject(element) && isObject(value)) {
    moveFields(ownElement(evaluation, list, index, element), value, evaluation.budget);
  } else list[index] = value;
}

/** The array at a place, to be changed in place; undefined if there is none. */
function listAt(evaluation: Evaluation, place: Place): JsonValue[] | undefined {
  const container = openExisting(evaluation, place);
  const segment = place.segmentOf(evaluation);
  if (container === undefined || segment === undefined) return undefined;
  const list = readStep(container, segment);
  return Array.isArray(list) ? ownStep(evaluation, container, segment, list) : undefined;
}

/** Pushes the value if `isWanted` accepts it; a missing or null target becomes an array. */
function pushing(
  place: Place,
  template: Template,
  isWanted: (element: JsonValue, list: JsonValue[], evaluation: Evaluation) => boolean,
): Operation {
  return (evaluation) => {
    const segment = place.segmentOf(evaluation);
    const element = template.build(evaluation, place.level + 1);
    if (segment === undefined || element === undefined) return;
    if (!isWanted(element, NO_ELEMENTS, evaluation)) return;
    const container = openForWriting(evaluation, place, segment);
    if (container === undefined) return;
    const list = readStep(container, segment) ?? null;
    if (list === null) {
      writeStep(evaluation, container, segment, [element]);
    } else if (Array.isArray(list)) {
      const own = ownStep(evaluation, container, segment, list);
      if (!isWanted(element, own, evaluation)) return;
      spend(evaluation.budget, SLOT_UNITS);
      own.push(element);
    }
  };
}

const NO_ELEMENTS: JsonValue[] = [];

/** Keeps the elements that match (`wanted` is true) or those that do not (`wanted` is false). */
function keeping(place: Place, where: Matcher, wanted: boolean): Operation {
  return (evaluation) => {
    const list = listAt(evaluation, place);
    const matches = list && where(list, evaluation);
    if (list === undefined || matches === undefined) return;
    let kept = 0;
    // Bounded: `where` has charged each element.
    for (let index = 0; index < matches.length; index++) {
      if (matches[index] === wanted) list[kept++] = list[index] as JsonValue;
    }
    list.length = kept;
  };
}

/** How the new value of an element is built: the element is bound to `slot`. */
interface ElementTemplate {
  readonly template: Template;
  readonly slot: number;
  readonly level: number;
}

/** Builds a new value for each matching element and undefined for the others; undefined: skip. */
function buildEach(
  { template, slot, level }: ElementTemplate,
  list: readonly JsonValue[],
  matches: readonly boolean[] | undefined,
  evaluation: Evaluation,
): readonly (JsonValue | undefined)[] | undefined {
  const built: (JsonValue | undefined)[] = [];
  for (const [index, element] of list.entries()) {
    spend(evaluation.budget, STEP_UNITS);
    if (matches !== undefined && matches[index] !== true) {
      built.push(undefined);
      continue;
    }
    evaluation.bindings[slot] = element;
    const value = template.build(evaluation, level);
    if (value === undefined) return undefined;
    built.push(value);
  }
  return built;
}

function keyOfAt(fields: JsonObject, site: Site): KeyOf {
  const key = fieldPathAt(fieldOr(fields, "key", "key"), childSite(site, "key"), "field_invalid");
  const walk = walker(key ?? []);
  const units = STEP_UNITS * (key ?? []).length;
  return (element, evaluation) => {
    spend(evaluation.budget, units);
    return walk(element, evaluation);
  };
}

function isSame(
  left: JsonValue,
  right: JsonValue,
  key: KeyOf | undefined,
  evaluation: Evaluation,
): boolean {
  spend(evaluation.budget, STEP_UNITS);
  if (equalValues(left, right, evaluation.budget)) return true;
  return key !== undefined && hasSameKey(left, right, key, evaluation);
}

function hasSameKey(
  left: JsonValue,
  right: JsonValue,
  key: KeyOf,
  evaluation: Evaluation,
): boolean {
  spend(evaluation.budget, STEP_UNITS);
  if (!isObject(left) || !isObject(right)) return false;
  const leftKey = key(left, evaluation);
  const rightKey = key(right, evaluation);
  if (leftKey === undefined || rightKey === undefined) return false;
  return equalValues(leftKey, rightKey, evaluation.budget);
}
