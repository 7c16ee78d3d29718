/** Measures a schema in parts, the unit to which the time of compiling is proportional. */

import { runAtOnce, type Steps } from "../../fairness/pieces.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { findTargets, type References } from "./references.ts";

/** What a count of parts includes, for the messages of faults. */
export const PARTS = "schemas, keywords and listed names, and ten for each target of a $ref";

/** A schema that is referred to becomes a function of its own. */
const PARTS_PER_TARGET = 10;

/** Counts schemas, keywords and listed names: each one becomes generated code. */
export function countParts(references: References): number {
  return runAtOnce(countPartsSteps(references));
}

/** The same in time slices. */
export function* countPartsSteps(references: References): Steps<number> {
  let parts = PARTS_PER_TARGET * (yield* findTargets(references)).size;
  for (const { schema } of references.places.values()) {
    parts += isJsonObject(schema) ? partsOf(schema) : 1;
    yield;
  }
  return parts;
}

/** The parts of one schema, without nested schemas. */
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
