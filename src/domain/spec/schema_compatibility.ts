/**
 * Compares two versions of one event schema, through every nested schema. Spec: "Versioning",
 * blocked changes 3 to 5.
 *
 * What counts: a type that was declared may not become another declared one, wider or not; a
 * property whose type was open may not be given one. Dropping a type, a property or a whole schema
 * is allowed: keeping a retired event type with a permissive schema is what the contract itself
 * advises.
 */

import { canonicalJson } from "../canonical_json.ts";
import type { JsonValue } from "../json.ts";
import { createFaultList, type FaultList, joinIndex, joinKey } from "./fault_list.ts";
import { findReferences } from "./schema/references.ts";
import { type SchemaAt, type SchemaView, viewSchema } from "./schema/view.ts";

/** Pairs of schemas compared at most: alternatives are tried against each other. */
const PAIRS_MAX = 10_000;

interface Comparison {
  /** Pairs under way or done, so that recursive schemas end. */
  readonly seen: Set<string>;
  readonly faults: FaultList;
  /** Shared with every trial of one branch against another. */
  readonly work: { pairsLeft: number };
}

/**
 * Reports each blocked change between `before` and `after`, both valid schemas of an event type.
 */
export function compareEventSchemas(
  before: JsonValue,
  after: JsonValue,
  path: string,
  faults: FaultList,
): void {
  if (canonicalJson(before) === canonicalJson(after)) return;
  const comparison = { seen: new Set<string>(), faults, work: { pairsLeft: PAIRS_MAX } };
  const root = (schema: JsonValue) => ({ references: findReferences(schema), pointer: "" });
  compare(root(before), root(after), path, comparison, true);
  if (comparison.work.pairsLeft > 0) return;
  faults.add(
    "not_comparable",
    path,
    `The schema has too many alternatives to show that ${path} stays compatible.`,
    "Change less at once, or add a new event type.",
  );
}

function compare(
  before: SchemaAt,
  after: SchemaAt,
  path: string,
  comparison: Comparison,
  isRoot = false,
): void {
  const { seen, faults, work } = comparison;
  const pair = `${before.pointer}\n${after.pointer}`;
  if (seen.has(pair) || work.pairsLeft === 0 || faults.isFull()) return;
  seen.add(pair);
  work.pairsLeft--;
  const [was, is] = [viewSchema(before), viewSchema(after)];
  if (was.isFalse) return;
  if (!keepsType(was, is, path, isRoot, faults)) return;
  if (was.types === undefined || was.types.has("object")) {
    compareObjects(was, is, path, comparison);
  }
  compareHeld(was, is, path, comparison);
  for (const keyword of ["anyOf", "oneOf"] as const) {
    compareBranches(was, is, keyword, path, comparison);
  }
}

/** Blocked change 4. Event data is always an object, so a root may say so or not. */
function keepsType(
  was: SchemaView,
  is: SchemaView,
  path: string,
  isRoot: boolean,
  faults: FaultList,
): boolean {
  const object = isRoot ? new Set(["object"]) : undefined;
  const before = was.types ?? object;
  const after = is.types ?? object;
  if (is.isFalse) {
    reportType(path, describeTypes(before), "no value at all", faults);
    return false;
  }
  if (after === undefined || isRoot && after.has("object")) return true;
  const isSame = before !== undefined && before.size === after.size &&
    [...before].every((type) => after.has(type));
  const isWider = before !== undefined && isWithin(before, after);
  const bothDeclared = was.declaresType && is.declaresType;
  if (isSame || (isWider && !bothDeclared)) return true;
  reportType(path, describeTypes(before), describeTypes(after), faults);
  return false;
}

function isWithin(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((type) => outer.has(type) || (type === "integer" && outer.has("number")));
}

function describeTypes(types: ReadonlySet<string> | undefined): string {
  return types === undefined ? "any type" : [...types].sort().join(" or ");
}

function reportType(path: string, before: string, after: string, faults: FaultList): void {
  faults.add(
    "type_changed",
    path,
    `The type of ${path} changes from ${before} to ${after}.`,
    "Add a new optional property, or a new event type, and leave this one as it is.",
  );
}

/** Blocked changes 3 and 5, then the properties that both have. */
function compareObjects(
  was: SchemaView,
  is: SchemaView,
  path: string,
  comparison: Comparison,
): void {
  for (const name of is.required) {
    if (was.required.has(name)) continue;
    comparison.faults.add(
      "required_added",
      joinKey(joinKey(path, "properties"), name),
      `${name} becomes required in ${path}; what senders write today would be refused.`,
      "Make it optional, or add a new event type that requires it.",
    );
  }
  if (was.isOpen && !is.isOpen) {
    comparison.faults.add(
      "additional_properties_closed",
      joinKey(path, "additionalProperties"),
      `${path} accepted additional properties and would now refuse them.`,
      "Leave additionalProperties out, or add a new event type that is strict.",
    );
  }
  for (const [name, after] of is.properties) {
    const before = was.properties.get(name);
    if (before !== undefined) {
      compare(before, after, joinKey(joinKey(path, "properties"), name), comparison);
    }
  }
}

/** `items` and the like; what one side leaves out accepts anything there. */
function compareHeld(
  was: SchemaView,
  is: SchemaView,
  path: string,
  comparison: Comparison,
): void {
  for (const [name, after] of is.held) {
    // Narrowing properties that have no name is not among the blocked changes.
    const isUnnamed = /^(?:additional|unevaluated|pattern)Properties/.test(name);
    const held = was.held.get(name) ??
      (name.startsWith("prefixItems.") ? was.held.get("items") : undefined);
    if (held === undefined && isUnnamed) continue;
    // A property that is new may bring conditions of its own.
    const trigger = /^dependentSchemas\.(.*)$/s.exec(name)?.[1];
    if (trigger !== undefined && !was.properties.has(trigger)) continue;
    if (name === "additionalProperties" && !is.isOpen) continue;
    compare(held ?? ANYTHING, after, heldPath(path, name), comparison);
  }
}

/** The schema `true`; its pointer is no other schema's. */
const ANYTHING: SchemaAt = { references: findReferences(true), pointer: "anything" };

function heldPath(path: string, name: string): string {
  const dot = name.indexOf(".");
  if (dot === -1) return joinKey(path, name);
  const [keyword, key] = [name.slice(0, dot), name.slice(dot + 1)];
  const place = joinKey(path, keyword);
  return keyword === "prefixItems" ? joinIndex(place, Number(key)) : joinKey(place, key);
}

/** Each form that was accepted must find a form that still accepts it, wherever it now stands. */
function compareBranches(
  was: SchemaView,
  is: SchemaView,
  keyword: "anyOf" | "oneOf",
  path: string,
  comparison: Comparison,
): void {
  const after = is.branches.get(keyword) ?? [];
  if (after.length === 0) return;
  for (const [index, before] of (was.branches.get(keyword) ?? []).entries()) {
    const finds = after.some((branch) => isCompatible(before, branch, comparison));
    const sameIndex = after[index];
    if (finds || sameIndex === undefined) continue;
    compare(before, sameIndex, joinIndex(joinKey(path, keyword), index), comparison);
  }
}

function isCompatible(before: SchemaAt, after: SchemaAt, comparison: Comparison): boolean {
  const faults = createFaultList(1);
  // Its own memory of pairs: what is only tried must not count as done.
  compare(before, after, "", { ...comparison, seen: new Set(), faults });
  return faults.faults.length === 0;
}
