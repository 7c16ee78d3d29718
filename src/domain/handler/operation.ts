/** What every tick operation is, and how its fields are checked. Decisions, section 9. */

import type { JsonObject, JsonValue } from "../json.ts";
import { isJsonObject } from "../json.ts";
import { addFault, childSite, type Evaluation, type Site } from "./evaluation.ts";

/** Changes `evaluation.state` in place, or replaces it. Total but for `StateTooLarge`. */
export type Operation = (evaluation: Evaluation) => void;

/** Compiles the fields of one operation; its faults are recorded at `site`. */
export type OperationCompiler = (fields: JsonObject, site: Site) => Operation;

export function doNothing(_evaluation: Evaluation): void {}

/**
 * Checks that `fields` is an object with all of `required` and nothing beside `required` and
 * `optional`. Each stray or missing key is a fault of its own; false when a field is missing.
 */
export function checkFields(
  fields: JsonValue,
  required: readonly string[],
  optional: readonly string[],
  site: Site,
): fields is JsonObject {
  const known = [...required, ...optional];
  const hint = `Fields: ${known.map((key) => optional.includes(key) ? `${key}?` : key).join(", ")}`;
  if (!isJsonObject(fields)) {
    addFault(site, "operation_invalid", "The fields of an operation are an object", hint);
    return false;
  }
  for (const key of Object.keys(fields)) {
    if (!known.includes(key)) {
      addFault(childSite(site, key), "unknown_key", `There is no field "${key}" here`, hint);
    }
  }
  let complete = true;
  for (const key of required) {
    if (Object.hasOwn(fields, key)) continue;
    addFault(childSite(site, key), "missing_key", `The field "${key}" is missing`, hint);
    complete = false;
  }
  return complete;
}

const BINDING_NAME = /^\$?([A-Za-z_][A-Za-z0-9_]*)$/;

/** A name to bind, with or without its `$`; undefined, with the fault recorded, for others. */
export function bindingNameAt(definition: JsonValue, site: Site): string | undefined {
  const name = typeof definition === "string" ? BINDING_NAME.exec(definition)?.[1] : undefined;
  if (name === undefined) {
    addFault(
      site,
      "name_invalid",
      "A bound name is letters, digits and underscores and does not start with a digit",
      'E.g. "line", read as "$line.qty"',
    );
  }
  return name;
}
