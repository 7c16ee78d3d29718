/** JSON as TypeScript types: what requests carry, handlers fold and the store keeps. */

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** True for `{...}`; false for `null`, arrays and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Names the kind of a value for messages: "an object", "a string" and so on. */
export function describeKind(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "nothing";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Counts all keys of all objects in `value`, which nests at most `limits.jsonDepthMax` deep. */
export function countKeys(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const element of value) {
      if (typeof element === "object" && element !== null) count += countKeys(element);
    }
    return count;
  }
  for (const key in value) {
    count++;
    const member = value[key];
    if (typeof member === "object" && member !== null) count += countKeys(member);
  }
  return count;
}
