/**
 * Compares two versions of an event schema for people: one change for each keyword that differs,
 * in every nested schema. Whether a change is refused is not decided here.
 */

import { canonicalJson } from "../canonical_json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { joinIndex, joinKey } from "./fault_list.ts";
import { ANNOTATIONS, isAnnotation } from "./schema/vocabulary.ts";
import {
  type FoundChange,
  isSame,
  namesIn,
  namesOf,
  objectIn,
  specChange,
  type Words,
} from "./spec_change.ts";

/** Keywords whose smaller value accepts more, and those whose larger value does. */
const LOWER_BOUNDS = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const UPPER_BOUNDS = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords that hold one schema, a list of them, or a map of them. */
const ONE = ["items", "contains", "propertyNames", "additionalProperties", "unevaluatedProperties"];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["$defs", "patternProperties", "dependentSchemas"];

/** `path` is the place of the schema. Both must be valid schemas. */
export function compareSchemas(
  before: JsonValue,
  after: JsonValue,
  path: string,
): FoundChange[] {
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (!isJsonObject(before) || !isJsonObject(after)) return [compareWhole(before, after, path)];
  return [
    ...compareType(before, after, path),
    ...compareRequired(before, after, path),
    ...compareProperties(before, after, path),
    ...keysOf(before, after).flatMap((key) => compareKeyword(before, after, key, path)),
  ];
}

/** One of them is `true` or `false`, which accept everything and nothing. */
function compareWhole(before: JsonValue, after: JsonValue, path: string): FoundChange {
  const isOpen = after === true || canonicalJson(after) === "{}";
  const meaning = isOpen
    ? "Any value is accepted."
    : after === false
    ? "No value is accepted any more."
    : before === false
    ? "Values are accepted; so far none was."
    : "What is accepted is described anew.";
  return {
    kind: "changed",
    path,
    before,
    after,
    effect: isOpen || before === false ? "compatible" : "narrower",
    meaning,
    matches: "type_changed",
  };
}

/** Keywords that differ, without those that are compared in a way of their own. */
function keysOf(before: JsonObject, after: JsonObject): string[] {
  return namesOf(before, after).filter((key) =>
    !["type", "required", "properties"].includes(key) && !isSame(before[key], after[key])
  );
}

function compareType(before: JsonObject, after: JsonObject, path: string): FoundChange[] {
  if (isSame(before.type, after.type)) return [];
  const isWider = after.type === undefined;
  return [specChange(path, before.type, after.type, {
    effect: isWider || before.type !== undefined ? "compatible" : "narrower",
    meaning: isWider
      ? "Values of any type are accepted."
      : before.type === undefined
      ? `Only ${typeText(after.type!)} is accepted.`
      : `${typeText(after.type!)} is accepted instead of ${typeText(before.type)}.`,
    matches: "type_changed",
  })];
}

function typeText(type: JsonValue): string {
  return Array.isArray(type) ? type.join(" or ") : String(type);
}

function compareRequired(before: JsonObject, after: JsonObject, path: string): FoundChange[] {
  const [was, is] = [namesIn(before.required), namesIn(after.required)];
  const known = objectIn(before, "properties");
  const added = is.filter((name) => !was.includes(name)).map((name) => {
    const isNew = !Object.hasOwn(known, name);
    const described = isNew ? objectIn(after, "properties")[name] : undefined;
    const now = described ?? "required";
    return specChange(propertyPath(path, name), isNew ? undefined : "optional", now, {
      effect: "narrower",
      meaning: `${name} becomes required.`,
      matches: "required_added",
    });
  });
  const removed = was.filter((name) => !is.includes(name)).map((name) =>
    specChange(propertyPath(path, name), "required", "optional", {
      effect: "compatible",
      meaning: `${name} may be left out; the handler then finds null there.`,
    })
  );
  return [...added, ...removed];
}

function propertyPath(path: string, name: string): string {
  return joinKey(joinKey(path, "properties"), name);
}

function compareProperties(before: JsonObject, after: JsonObject, path: string): FoundChange[] {
  const [was, is] = [objectIn(before, "properties"), objectIn(after, "properties")];
  const newlyRequired = new Set(namesIn(after.required));
  return namesOf(was, is).flatMap((name): FoundChange[] => {
    const place = propertyPath(path, name);
    const [old, next] = [was[name], is[name]];
    if (old !== undefined && next !== undefined) return compareSchemas(old, next, place);
    // A new property that is required has its line already.
    const isListed = newlyRequired.has(name) && !namesIn(before.required).includes(name);
    if (old === undefined && isListed) return [];
    const words = old === undefined
      ? wordsOfAdded(name, next!, before.additionalProperties !== false)
      : wordsOfDropped(name, old, after.additionalProperties !== false);
    return [specChange(place, old, next, words)];
  });
}

/** `isOpen`: whether properties that are not listed were accepted. */
function wordsOfAdded(name: string, next: JsonValue, isOpen: boolean): Words {
  if (next !== false) {
    return { effect: "compatible", meaning: "Optional: writes without it are still accepted." };
  }
  return isOpen
    ? { effect: "narrower", meaning: `Writes that send ${name} would be refused.` }
    : { effect: "none", meaning: `Writes that send ${name} are refused, as before.` };
}

/** `isOpen`: whether properties that are not listed are accepted. */
function wordsOfDropped(name: string, old: JsonValue, isOpen: boolean): Words {
  if (isOpen) {
    const meaning = old === false
      ? `Writes may send ${name}; it is not checked, and stored as it is sent.`
      : `${name} is not checked any more; it is stored as it is sent.`;
    return { effect: "compatible", meaning };
  }
  return old === false
    ? { effect: "none", meaning: `Writes that send ${name} are refused, as before.` }
    : { effect: "narrower", meaning: `Writes that send ${name} would be refused.` };
}

function compareKeyword(
  before: JsonObject,
  after: JsonObject,
  key: string,
  path: string,
): FoundChange[] {
  const [was, is] = [before[key], after[key]];
  const place = joinKey(path, key);
  if (isAnnotation(key) || ANNOTATIONS.has(key) || key === "$comment" || key === "$schema") {
    return [specChange(place, was, is, { effect: "none", meaning: "A text for people." })];
  }
  if (key === "additionalProperties" && (was === false || is === false)) {
    return [compareOpenness(place, was, is)];
  }
  const bothThere = was !== undefined && is !== undefined;
  if (bothThere && ONE.includes(key)) return compareSchemas(was, is, place);
  if (bothThere && LISTS.includes(key) && Array.isArray(was) && Array.isArray(is)) {
    if (was.length === is.length) {
      return is.flatMap((each, index) =>
        compareSchemas(was[index]!, each, joinIndex(place, index))
      );
    }
  }
  if (bothThere && MAPS.includes(key) && isJsonObject(was) && isJsonObject(is)) {
    return compareMaps(was, is, place);
  }
  // `items` and the like may be refused where there were none before: those accepted anything.
  const matches = ONE.includes(key) ? "type_changed" : undefined;
  return [specChange(place, was, is, { ...wordsFor(key, was, is), matches })];
}

function compareOpenness(
  path: string,
  was: JsonValue | undefined,
  is: JsonValue | undefined,
): FoundChange {
  const isClosed = is === false;
  return specChange(path, was, is, {
    effect: isClosed ? "narrower" : "compatible",
    meaning: isClosed
      ? "Properties that are not listed would be refused."
      : "Properties that are not listed are accepted.",
    matches: "additional_properties_closed",
  });
}

function compareMaps(was: JsonObject, is: JsonObject, path: string): FoundChange[] {
  return namesOf(was, is).flatMap((name) => {
    const [old, next] = [was[name], is[name]];
    const place = joinKey(path, name);
    if (old !== undefined && next !== undefined) return compareSchemas(old, next, place);
    return [specChange(place, old, next, wordsFor(path, old, next))];
  });
}

/** What a keyword without a rule of its own means: whether more or less is accepted. */
function wordsFor(
  key: string,
  was: JsonValue | undefined,
  is: JsonValue | undefined,
): Words {
  if (key.endsWith("$defs")) return { effect: "none", meaning: "A schema that others refer to." };
  if (isNarrower(key, was, is)) {
    return { effect: "narrower", meaning: "Writes that are accepted today may be refused." };
  }
  return { effect: "compatible", meaning: "What is accepted today is still accepted." };
}

function isNarrower(
  key: string,
  was: JsonValue | undefined,
  is: JsonValue | undefined,
): boolean {
  if (is === undefined) return false;
  if (was === undefined) return true;
  if (typeof was === "number" && typeof is === "number") {
    if (LOWER_BOUNDS.includes(key)) return is > was;
    if (UPPER_BOUNDS.includes(key)) return is < was;
  }
  if (key === "enum" && Array.isArray(was) && Array.isArray(is)) {
    const kept = new Set(is.map((value) => canonicalJson(value)));
    return was.some((value) => !kept.has(canonicalJson(value)));
  }
  // `uniqueItems: false` checks nothing.
  return !(key === "uniqueItems" && is === false);
}
