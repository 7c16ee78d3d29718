/** Checks the form of an entry's parts: objects with known keys, and texts that may be paths. */

import { addFault, childSite, type Evaluation, type Site } from "../handler/evaluation.ts";
import { templateAt } from "../handler/template.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { didYouMean } from "../nearest_name.ts";

/**
 * Returns `definition` as an object. If it is not one, records a fault and returns undefined.
 * Unknown and missing keys are separate faults and do not stop the compilation.
 */
export function fieldsAt(
  definition: JsonValue,
  required: readonly string[],
  optional: readonly string[],
  site: Site,
): JsonObject | undefined {
  const known = [...required, ...optional];
  const hint = `Keys: ${known.map((key) => optional.includes(key) ? `${key}?` : key).join(", ")}`;
  if (!isJsonObject(definition)) {
    addFault(site, "wrong_type", `This must be an object, not ${describeKind(definition)}`, hint);
    return undefined;
  }
  for (const key of Object.keys(definition)) {
    if (known.includes(key)) continue;
    const place = childSite(site, key);
    addFault(place, "unknown_key", `There is no key "${key}" here`, didYouMean(key, known, hint));
  }
  for (const key of required) {
    if (Object.hasOwn(definition, key)) continue;
    addFault(childSite(site, key), "missing_key", `The key "${key}" is missing`, hint);
  }
  return definition;
}

/** A text that the spec gives literally or a path finds. */
export interface TextField {
  /** The text, if the spec gives it literally. */
  readonly constant: string | undefined;
  /** The value the path finds, of any type; undefined if an optional path finds nothing. */
  readonly view: (evaluation: Evaluation) => JsonValue | undefined;
}

/** Compiles the field `key`; undefined if it is missing or faulty, which has been reported. */
export function textAt(fields: JsonObject, key: string, site: Site): TextField | undefined {
  if (!Object.hasOwn(fields, key)) return undefined;
  const definition = fields[key] as JsonValue;
  const place = childSite(site, key);
  if (mayGiveText(definition)) {
    const faultsBefore = place.faults.length;
    const { constant, view } = templateAt(definition, place);
    if (place.faults.length > faultsBefore) return undefined;
    if (constant === undefined || typeof constant === "string") return { constant, view };
  }
  const message = `${key} must be a text or a path, not ${describeKind(definition)}`;
  addFault(place, "wrong_type", message, 'Write a name, or a path such as "$.data.customer_id"');
  return undefined;
}

/** True for texts, paths and the operators that can give a text. */
function mayGiveText(definition: JsonValue): boolean {
  if (!isJsonObject(definition)) return typeof definition === "string";
  return Object.hasOwn(definition, "$") || Object.hasOwn(definition, "$literal");
}
