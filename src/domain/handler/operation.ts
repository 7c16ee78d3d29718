/**
 * The type of a tick operation, and the check of an operation's fields.
 *
 * See docs/reference/handlers.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { addFault, childSite, type Evaluation, type Site } from "./evaluation.ts";

/**
 * Changes `evaluation.state` in place, or replaces it. Throws only
 * `BudgetSpent`/`StateTooLarge`.
 */
export type Operation = (evaluation: Evaluation) => void;

/** Compiles the fields of one operation; it records faults at `site`. */
export type OperationCompiler = (fields: JsonObject, site: Site) => Operation;

export function doNothing(_evaluation: Evaluation): void {}

/**
 * Checks that `fields` is an object with all of `required` and no keys other than `required`
 * and `optional`. Each unknown or missing key is a separate fault. Returns false when a field
 * is missing.
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

/** The name to bind, with or without its `$`. If invalid, records a fault and returns undefined. */
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
