/** How much there is in a schema, in the unit that compiling takes its time by. */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { findTargets, type References } from "./references.ts";

/** What a count of parts counts, for the texts of faults. */
export const PARTS = "schemas, keywords and listed names, and ten for each target of a $ref";

/** A schema that is referred to becomes a function of its own. */
const PARTS_PER_TARGET = 10;

/** Schemas, their keywords, and the names that some keywords list: each is code to generate. */
export function countParts(references: References): number {
  let parts = PARTS_PER_TARGET * findTargets(references).size;
  for (const { schema } of references.places.values()) {
    parts += isJsonObject(schema) ? partsOf(schema) : 1;
  }
  return parts;
}

/** Of one schema, without those that it holds. */
export function partsOf(schema: JsonObject): number {
  return 1 + Object.keys(schema).length + listedNames(schema);
}

function listedNames(schema: JsonObject): number {
  const dependent = isJsonObject(schema.dependentRequired) ? schema.dependentRequired : {};
  return [schema.required, schema.type, ...Object.values(dependent)].reduce(
    (sum: number, list: JsonValue | undefined) => sum + (Array.isArray(list) ? list.length : 0),
    Object.keys(dependent).length,
  );
}
