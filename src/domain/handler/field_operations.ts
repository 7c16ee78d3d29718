/**
 * Operations on one key or element: at a static target, such as `set`, or at `target[key]`, such as
 * `set_at`. See docs/reference/handlers.md.
 *
 * - Null counts as missing wherever something is written, just as a missing path reads as null.
 * - `merge` does nothing when its value is not an object; `increment` does nothing when `by` is
 *   not a number.
 * - With the target `""`, `set` and `merge` write the whole state. `increment` then does
 *   nothing, because a state is not a number, and `remove` is refused, because the state is not
 *   a key.
 */

import type { JsonObject, JsonValue } from "../json.ts";
import { checkFields, doNothing, type Operation, type OperationCompiler } from "./operation.ts";
import { ownState, ownStep } from "./own.ts";
import { readStep } from "./path.ts";
import { keyedPlace, openExisting, openForWriting, type Place, staticPlace } from "./place.ts";
import { removeStep, targetAt, writeStep } from "./target.ts";
import { templateAt } from "./template.ts";
import { addFault, childSite, type Site, type Template } from "./evaluation.ts";
import { isObject, moveFields } from "./value.ts";

export function compileSet(fields: JsonObject, site: Site): Operation {
  const at = valueAndTarget(fields, site);
  if (at === undefined) return doNothing;
  return at.place === undefined ? setState(at.value) : setPlace(at.place, at.value);
}

export function compileMerge(fields: JsonObject, site: Site): Operation {
  const at = valueAndTarget(fields, site);
  if (at === undefined) return doNothing;
  return at.place === undefined ? mergeState(at.value) : mergePlace(at.place, at.value);
}

function valueAndTarget(fields: JsonObject, site: Site) {
  const complete = checkFields(fields, ["target", "value"], [], site);
  const place = staticPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  return complete ? { place, value } : undefined;
}

export function compileSetAt(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "key", "value"], [], site);
  const place = keyedPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  return complete ? setPlace(place, value) : doNothing;
}

export function compileMergeAt(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "key", "value"], [], site);
  const place = keyedPlaceOf(fields, site);
  const value = templateOf(fields, "value", site);
  return complete ? mergePlace(place, value) : doNothing;
}

/** `increment` with the sign 1, `decrement` with -1. */
export function incrementCompiler(sign: 1 | -1): OperationCompiler {
  return (fields, site) => {
    const complete = checkFields(fields, ["target"], ["by"], site);
    const place = staticPlaceOf(fields, site);
    const by = templateOf(fields, "by", site, 1);
    return complete && place !== undefined ? incrementPlace(place, by, sign) : doNothing;
  };
}

export function compileIncrementAt(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "key"], ["by"], site);
  const place = keyedPlaceOf(fields, site);
  const by = templateOf(fields, "by", site, 1);
  return complete ? incrementPlace(place, by, 1) : doNothing;
}

/** `remove` without a `where`; the caller has checked the fields. */
export function compileRemoveKey(fields: JsonObject, site: Site): Operation {
  if (fields["target"] === "") {
    addFault(
      childSite(site, "target"),
      "target_invalid",
      "The whole state is no key that could be removed",
      'To empty the state write {"set": {"target": "", "value": {}}}',
    );
    return doNothing;
  }
  const place = staticPlaceOf(fields, site);
  return place === undefined ? doNothing : removePlace(place);
}

export function compileRemoveAt(fields: JsonObject, site: Site): Operation {
  const complete = checkFields(fields, ["target", "key"], [], site);
  const place = keyedPlaceOf(fields, site);
  return complete ? removePlace(place) : doNothing;
}

/** The place that the field `target` names; `checkFields` has already reported a missing one. */
export function staticPlaceOf(fields: JsonObject, site: Site): Place | undefined {
  return staticPlace(targetAt(fieldOr(fields, "target", ""), childSite(site, "target")));
}

function keyedPlaceOf(fields: JsonObject, site: Site): Place {
  const target = targetAt(fieldOr(fields, "target", ""), childSite(site, "target"));
  return keyedPlace(target, fieldOr(fields, "key", ""), site);
}

/** The template of a field, or of `otherwise` when the field is absent. */
export function templateOf(
  fields: JsonObject,
  name: string,
  site: Site,
  otherwise: JsonValue = null,
): Template {
  return templateAt(fieldOr(fields, name, otherwise), childSite(site, name));
}

/** Reads an own property of a definition; safe to call even if `fields` is not an object. */
export function fieldOr(fields: JsonObject, name: string, otherwise: JsonValue): JsonValue {
  if (!isObject(fields) || !Object.hasOwn(fields, name)) return otherwise;
  return fields[name] as JsonValue;
}

function setState(template: Template): Operation {
  return (evaluation) => {
    const value = template.build(evaluation, 1);
    if (isObject(value)) evaluation.state = value;
  };
}

function setPlace(place: Place, template: Template): Operation {
  return (evaluation) => {
    const segment = place.segmentOf(evaluation);
    if (segment === undefined) return;
    const value = template.build(evaluation, place.level);
    if (value === undefined) return;
    const container = openForWriting(evaluation, place, segment);
    if (container !== undefined) writeStep(evaluation, container, segment, value);
  };
}

function mergeState(template: Template): Operation {
  return (evaluation) => {
    const value = template.build(evaluation, 1);
    if (isObject(value)) moveFields(ownState(evaluation), value, evaluation.budget);
  };
}

function mergePlace(place: Place, template: Template): Operation {
  return (evaluation) => {
    const segment = place.segmentOf(evaluation);
    if (segment === undefined) return;
    const value = template.build(evaluation, place.level);
    if (!isObject(value)) return;
    const container = openForWriting(evaluation, place, segment);
    if (container === undefined) return;
    const current = readStep(container, segment) ?? null;
    if (current === null) writeStep(evaluation, container, segment, value);
    else if (isObject(current)) {
      moveFields(ownStep(evaluation, container, segment, current), value, evaluation.budget);
    }
  };
}

function incrementPlace(place: Place, template: Template, sign: 1 | -1): Operation {
  return (evaluation) => {
    const segment = place.segmentOf(evaluation);
    const by = template.view(evaluation);
    if (segment === undefined || typeof by !== "number" || !Number.isFinite(by)) return;
    const container = openForWriting(evaluation, place, segment);
    if (container === undefined) return;
    const current = readStep(container, segment) ?? 0;
    if (typeof current !== "number") return;
    // Adding 0 turns -0, which JSON text cannot hold, into 0.
    const sum = current + sign * by + 0;
    if (Number.isFinite(sum)) writeStep(evaluation, container, segment, sum);
  };
}

function removePlace(place: Place): Operation {
  return (evaluation) => {
    const segment = place.segmentOf(evaluation);
    const container = openExisting(evaluation, place);
    if (segment === undefined || container === undefined) return;
    removeStep(evaluation, container, segment);
  };
}
