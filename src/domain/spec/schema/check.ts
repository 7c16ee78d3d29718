/**
 * Checks what a schema may contain, before it is compiled.
 *
 * Every keyword must have a value of its kind, every reference must stay inside the schema,
 * every pattern must be linear, and no loop may be endless. Each fault is reported with its own
 * path. Unknown keywords and formats have no effect and get a warning.
 */

import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { type FaultList, joinIndex, joinKey, shorten } from "../fault_list.ts";
import { limits } from "../../limits.ts";
import { didYouMean } from "../../nearest_name.ts";
import { FORMAT_NAMES } from "./formats/formats.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { preparePatternSteps } from "./patterns/pattern.ts";
import type { PatternSet } from "./patterns/pattern_set.ts";
import {
  allTargets,
  findReferencesSteps,
  LENGTHS,
  type Place,
  type References,
} from "./references.ts";
import { countPartsSteps, PARTS } from "./schema_size.ts";
import { FOREIGN_KEYWORDS, isAnnotation, KEYWORDS, unescapePointer } from "./vocabulary.ts";

/** Maximum number of parts in one event's schema; compiling a part takes up to 60 microseconds. */
const PARTS_MAX = 10_000;

/** Maximum number of schemas under one keyword, which are all compiled in one time slice. */
const HELD_MAX = 250;

/** Maximum number of schemas that one `$dynamicRef` may mean; each use examines all of them. */
const DYNAMIC_TARGETS_MAX = 50;

const DIALECT = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

interface Site {
  readonly schema: JsonObject;
  readonly place: Place;
  readonly path: string;
  readonly references: References;
  readonly patterns: PatternSet;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

export interface SchemaReports {
  readonly patterns: PatternSet;
  readonly faults: FaultList;
  readonly warnings: FaultList;
}

/** Returns the references of the schema, or undefined after reporting at least one fault. */
export function* checkSchema(
  root: JsonValue,
  path: string,
  { patterns, faults, warnings }: SchemaReports,
): Steps<References | undefined> {
  const before = faults.faults.length;
  if (faults.isFull()) return undefined;
  // Every schema is a part, so there is no need to look at more of them.
  const references = yield* findReferencesSteps(root, PARTS_MAX);
  if (references.isTooLong) {
    faults.add(
      "schema_too_large",
      path,
      `The names on the way to the schemas within this one are too long: ${LENGTHS}.`,
      "Use shorter names, or move nested schemas into $defs.",
    );
    return undefined;
  }
  yield;
  const isLarge = references.places.size > PARTS_MAX;
  const parts = isLarge ? references.places.size : yield* countPartsSteps(references);
  if (parts > PARTS_MAX) {
    faults.add(
      "schema_too_large",
      path,
      `The schema has ${isLarge ? "at least " : ""}${parts} parts (${PARTS}); ` +
        `at most ${PARTS_MAX} are allowed.`,
      "Describe less, or split the event type.",
    );
    return undefined;
  }
  for (const place of references.places.values()) {
    const { schema } = place;
    const placePath = pathOf(path, place.pointer);
    if (isJsonObject(schema)) {
      const site = { schema, place, path: placePath, references, patterns, faults, warnings };
      yield* checkSite(site);
    } else if (typeof schema !== "boolean") notASchema(schema, placePath, faults);
    yield;
  }
  for (const [pointer, name] of references.duplicates) {
    faults.add(
      "schema_reference",
      pathOf(path, pointer),
      `"${shorten(name.replace("event-schema:///", ""))}" names two schemas.`,
      "Give each $id and $anchor once.",
    );
  }
  if (faults.faults.length > before) return undefined;
  yield* checkLoops(references, (pointer) => pathOf(path, pointer), faults);
  return faults.faults.length > before ? undefined : references;
}

/** `schema.properties.lines.items` for `/properties/lines/items`. */
function pathOf(path: string, pointer: string): string {
  const segments = pointer.split("/").slice(1).map(unescapePointer);
  let result = path;
  for (const [index, segment] of segments.entries()) {
    const isIndex = KEYWORDS.get(segments[index - 1] ?? "")?.holds === "list";
    result = isIndex && /^\d+$/.test(segment)
      ? joinIndex(result, Number(segment))
      : joinKey(result, segment);
  }
  return result;
}

function notASchema(value: JsonValue, path: string, faults: FaultList): void {
  faults.add(
    "schema_invalid",
    path,
    `A schema must be an object, true or false, not ${describeKind(value)}.`,
    "Write true to accept any value.",
  );
}

function* checkSite(site: Site): Steps<void> {
  for (const [keyword, value] of Object.entries(site.schema)) {
    if (site.faults.isFull()) return;
    const path = joinKey(site.path, keyword);
    const known = KEYWORDS.get(keyword);
    if (known === undefined) warnOfUnknown(keyword, path, site.warnings);
    else if (known.holds === "list") checkSchemaList(value, path, site.faults);
    else if (known.holds === "map") yield* checkSchemaMap(keyword, value, path, site);
    else if (known.shape !== undefined && !known.shape.test(value)) {
      invalid(path, `${keyword} must ${known.shape.must}.`, site.faults);
    } else if (keyword === "pattern") {
      yield* checkPattern(value as string, path, site.patterns, site.faults);
    } else checkValue(keyword, value, path, site);
  }
}

function invalid(path: string, message: string, faults: FaultList): void {
  faults.add("schema_invalid", path, message, "See JSON Schema Draft 2020-12.");
}

function warnOfUnknown(keyword: string, path: string, warnings: FaultList): void {
  if (isAnnotation(keyword) || warnings.isFull()) return;
  warnings.add(
    "schema_unknown_keyword",
    path,
    `"${
      shorten(keyword)
    }" is not a keyword of JSON Schema 2020-12: it is stored and checks nothing.`,
    FOREIGN_KEYWORDS.get(keyword) ??
      didYouMean(keyword, KEYWORDS.keys(), "Begin the names of notes with x-."),
  );
}

function warnOfFormat(format: string, path: string, warnings: FaultList): void {
  if (warnings.isFull()) return;
  warnings.add(
    "schema_unknown_format",
    path,
    `"${shorten(format)}" is not a known format: it is stored and checks nothing.`,
    didYouMean(format, FORMAT_NAMES, `Known formats: ${[...FORMAT_NAMES].join(", ")}.`),
  );
}

function warnOfDialect(dialect: JsonValue, path: string, warnings: FaultList): void {
  if (typeof dialect === "string" && DIALECT.test(dialect)) return;
  const shown = typeof dialect === "string" ? `"${shorten(dialect)}"` : describeKind(dialect);
  warnings.add(
    "schema_dialect",
    path,
    `$schema is ${shown}, and the schema is read as Draft 2020-12.`,
    'Write "https://json-schema.org/draft/2020-12/schema", or leave $schema out.',
  );
}

function checkSchemaList(value: JsonValue, path: string, faults: FaultList): void {
  if (Array.isArray(value) && value.length > 0) return checkHeld(value.length, path, faults);
  invalid(path, `${path} must be a non-empty array of schemas.`, faults);
}

/** Maps of schemas that can be divided among several functions. */
const DIVISIBLE = new Set(["properties", "$defs", "definitions"]);

function checkHeld(count: number, path: string, faults: FaultList): void {
  if (count <= HELD_MAX) return;
  faults.add(
    "schema_too_large",
    path,
    `${path} holds ${count} schemas; at most ${HELD_MAX} are allowed.`,
    "Describe less, or put several forms into one.",
  );
}

function* checkSchemaMap(
  keyword: string,
  value: JsonValue,
  path: string,
  { patterns, faults }: Site,
): Steps<void> {
  if (!isJsonObject(value)) return invalid(path, `${path} must be an object of schemas.`, faults);
  const keys = Object.keys(value);
  if (!DIVISIBLE.has(keyword)) checkHeld(keys.length, path, faults);
  if (keyword === "patternProperties") {
    for (const key of keys.slice(0, HELD_MAX)) {
      yield* checkPattern(key, joinKey(path, key), patterns, faults);
      yield;
    }
  }
  if (keyword === "dependentSchemas" && Object.hasOwn(value, "__proto__")) {
    invalid(path, `"__proto__" cannot have a dependent schema.`, faults);
  }
}

function checkValue(keyword: string, value: JsonValue, path: string, site: Site): void {
  const { faults } = site;
  if (keyword === "enum" || keyword === "const") return checkAllowed(keyword, value, path, faults);
  if (keyword === "$ref" || keyword === "$dynamicRef") {
    checkReference(keyword, value as string, path, site);
  } else if (keyword === "format" && !FORMAT_NAMES.has(value as string)) {
    warnOfFormat(value as string, path, site.warnings);
  } else if (keyword === "$schema") warnOfDialect(value, path, site.warnings);
  else if (keyword === "$id" && /#./.test(value as string)) {
    invalid(path, "$id must not have a fragment.", faults);
  } else if (keyword === "dependentRequired" && Object.hasOwn(value as object, "__proto__")) {
    invalid(path, `"__proto__" cannot have dependent properties.`, faults);
  }
}

/** A deploy encodes all allowed values in one time slice, so their number is limited. */
function checkAllowed(keyword: string, value: JsonValue, path: string, faults: FaultList): void {
  const { allowedValuesMax: max } = limits;
  if (!hasMoreValues(value, max)) return;
  faults.add(
    "schema_too_large",
    path,
    `${keyword} has more than ${max} values, counted with all that are within them.`,
    "Describe what they have in common, or keep the list where it is written from.",
  );
}

function hasMoreValues(value: JsonValue, max: number): boolean {
  const pending = [value];
  for (let count = 0; count <= max; count++) {
    const next = pending.pop();
    if (next === undefined) return false;
    if (typeof next !== "object" || next === null) continue;
    const within = Array.isArray(next) ? next : Object.values(next);
    if (count + pending.length + within.length > max) return true;
    pending.push(...within);
  }
  return true;
}

function* checkPattern(
  source: string,
  path: string,
  patterns: PatternSet,
  faults: FaultList,
): Steps<void> {
  yield* preparePatternSteps(source);
  const compiled = patterns.compile(source);
  if (compiled.ok) return;
  const message = `The pattern "${shorten(source)}" ${compiled.message}.`;
  faults.add("schema_pattern", path, message, compiled.hint);
}

function checkReference(keyword: string, reference: string, path: string, site: Site): void {
  const { references, place, faults } = site;
  const { ref, dynamicRef, several } = references.targetsOf(place);
  const shown = shorten(reference);
  if (references.isRemote(reference, place)) {
    faults.add(
      "schema_reference",
      path,
      `"${shown}" refers to another document; nothing is ever fetched.`,
      "Copy what it means into $defs and refer to it as #/$defs/name.",
    );
  } else if ((keyword === "$ref" ? ref : dynamicRef) === undefined) {
    faults.add(
      "schema_reference",
      path,
      `"${shown}" refers to no schema within this one.`,
      "Write #, #/$defs/name or #anchor.",
    );
  } else if (keyword === "$dynamicRef") {
    const count = several?.places.length ?? 1;
    if (count <= DYNAMIC_TARGETS_MAX) return;
    faults.add(
      "schema_too_large",
      path,
      `"${shown}" could mean ${count} schemas; at most ${DYNAMIC_TARGETS_MAX} are allowed.`,
      "Write $ref, or give fewer schemas the same $dynamicAnchor.",
    );
  }
}

/** Maximum number of schemas that may look at one value, each inside or after the previous one. */
const CHAIN_MAX = 100;

/**
 * Finds schemas that would check the same value forever, or so deep that the stack overflows:
 * reports the first loop, or the first chain that is too long. An example is `a` referring to
 * `b` and `b` to `a`. Recursion that descends into the data (a tree of nodes) is not a loop.
 */
function* checkLoops(
  references: References,
  pathOf: (pointer: string) => string,
  faults: FaultList,
): Steps<void> {
  const heights = new Map<Place, number>();
  for (const place of references.places.values()) {
    const height = yield* heightOf(place, references, heights, 0);
    if (height <= CHAIN_MAX) continue;
    const isLoop = height === Infinity;
    faults.add(
      isLoop ? "schema_endless" : "schema_too_deep",
      pathOf(place.pointer),
      isLoop
        ? "The schema refers back to itself for the same value, so checking it would never end."
        : `More than ${CHAIN_MAX} schemas in a row look at the same value.`,
      isLoop
        ? "Refer back from within properties or items only."
        : "Refer to the last of them directly.",
    );
    return;
  }
}

/** The longest chain of schemas from here that look at the same value; Infinity for a loop. */
function* heightOf(
  place: Place,
  references: References,
  heights: Map<Place, number>,
  depth: number,
): Steps<number> {
  const known = heights.get(place);
  if (known !== undefined) return known;
  // Too deep is final in any case; this ends the walk before the stack overflows.
  if (depth > CHAIN_MAX) return CHAIN_MAX + 1;
  yield;
  // Marks the place as being on the current path: meeting it again is a loop.
  heights.set(place, Infinity);
  let height = 0;
  for (const next of sameValue(place, references)) {
    height = Math.max(height, yield* heightOf(next, references, heights, depth + 1));
  }
  heights.set(place, height + 1);
  return height + 1;
}

/** The schemas that look at the same value as this one. */
function sameValue(place: Place, references: References): Place[] {
  const next = [...allTargets(place, references)];
  for (const [keyword, places] of place.held) {
    if (KEYWORDS.get(keyword)?.inPlace) next.push(...places);
  }
  return next;
}
