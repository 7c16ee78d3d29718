/**
 * An event's schema as a part of a larger document: each reference by its place there, and the
 * names left out by which it was found inside the schema alone. It means the same as before.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { findReferences, type References } from "./references.ts";
import { escapePointer, KEYWORDS } from "./vocabulary.ts";

/** What says where a schema is. Two event types may use the same names. */
const NAMING: ReadonlySet<string> = new Set(["$schema", "$id", "$anchor", "$dynamicAnchor"]);

/** What is no keyword here may be one there, and mean what nobody checks. */
function isOfNoUse(keyword: string): boolean {
  if (NAMING.has(keyword) || keyword === "$comment") return true;
  return !KEYWORDS.has(keyword) && !keyword.startsWith("x-");
}

/**
 * `schema`, which has passed its deploy, to stand at `place`: the reference to it, e.g.
 * `#/components/schemas/order.was_placed`.
 */
export function embedSchema(schema: JsonValue, place: string): JsonValue {
  return embedAt("", findReferences(schema), place);
}

function embedAt(pointer: string, references: References, place: string): JsonValue {
  const { schema } = references.places.get(pointer)!;
  if (!isJsonObject(schema)) return schema;
  const result: JsonObject = {};
  const targets: JsonObject[] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    if (isOfNoUse(keyword)) continue;
    if (keyword === "$ref" || keyword === "$dynamicRef") {
      // A deployed schema has no reference without a target.
      const target = references.resolve(value as string, pointer) ?? "";
      const several = keyword === "$dynamicRef"
        ? references.dynamicTargets(value as string, pointer)
        : undefined;
      const refTo = (to: string): JsonObject => ({ $ref: place + asFragment(to) });
      // Which of several it means shows only where the schema is used: any of them.
      targets.push(several ? { anyOf: several.pointers.map(refTo) } : refTo(target));
      continue;
    }
    const at = (key: string) => embedAt(`${pointer}/${keyword}/${key}`, references, place);
    result[keyword] = embedHeld(
      keyword,
      value,
      at,
      () => embedAt(`${pointer}/${keyword}`, references, place),
    );
  }
  for (const target of targets) addTarget(target, result);
  return result;
}

/** A schema may have both kinds of reference, beside keywords of its own: all hold. */
function addTarget(target: JsonObject, result: JsonObject): void {
  const [keyword] = Object.keys(target);
  if (result[keyword!] === undefined) Object.assign(result, target);
  else result.allOf = [...result.allOf as JsonValue[] | undefined ?? [], target];
}

function embedHeld(
  keyword: string,
  value: JsonValue,
  at: (key: string) => JsonValue,
  whole: () => JsonValue,
): JsonValue {
  switch (KEYWORDS.get(keyword)?.holds) {
    case "schema":
      return whole();
    case "list":
      return (value as JsonValue[]).map((_, index) => at(String(index)));
    case "map":
      // Entries, not assignments: a key may be `__proto__`.
      return Object.fromEntries(
        Object.keys(value as JsonObject).map((key) => [key, at(escapePointer(key))]),
      );
    default:
      return value;
  }
}

/** A JSON Pointer as it stands behind `#` in a URI (RFC 6901, section 6). */
function asFragment(pointer: string): string {
  return pointer.split("/").map(encodeURIComponent).join("/");
}
