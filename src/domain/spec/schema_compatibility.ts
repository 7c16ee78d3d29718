/**
 * Compares two versions of one event schema, through every nested schema. Spec: "Versioning",
 * blocked changes 3 to 5.
 *
 * What counts: a type that was declared may not become another declared one, but for `integer`,
 * which may become `number`, and `null`, which may be added; a property whose type was open may not
 * be given one. Dropping a type, a property or a whole schema is allowed: keeping a retired event
 * type with a permissive schema is what the contract itself advises.
 */

import { type Budget, BudgetSpent, newBudget, spend } from "../budget.ts";
import { canonicalJson } from "../canonical_json.ts";
import type { JsonValue } from "../json.ts";
import type { Steps } from "../pieces.ts";
import { createFaultList, type FaultList, joinIndex, joinKey } from "./fault_list.ts";
import { findReferences, findReferencesSteps, type References } from "./schema/references.ts";
import { type SchemaAt, type SchemaView, viewSchema, withoutDetour } from "./schema/view.ts";

/** What comparing two versions of one schema may cost, in the coin of `budget.ts`. */
const COMPARISON_UNITS = 4_000_000;
const UNITS_PER_PAIR = 64;
const UNITS_PER_NAME = 16;

interface Comparison {
  readonly faults: FaultList;
  readonly work: Work;
  /** Goes on with two schemas that are held by two that are compared. */
  readonly descend: (before: SchemaAt, after: SchemaAt, path: string) => void;
}

/** Shared by the comparison and all trials of one form against another. */
interface Work {
  readonly budget: Budget;
  readonly views: Map<References, Map<string, SchemaView>>;
  /** By pair: whether what was valid under the first stays valid under the second. */
  readonly trials: Map<string, boolean | "under way">;
  /** How often a trial has taken for granted what another one under way is to show. */
  assumptions: number;
}

/**
 * Reports each blocked change between `before` and `after`, both valid schemas of an event type.
 */
export function* compareEventSchemas(
  before: JsonValue,
  after: JsonValue,
  path: string,
  faults: FaultList,
): Steps<void> {
  if (canonicalJson(before) === canonicalJson(after)) return;
  yield;
  const work = {
    budget: newBudget(COMPARISON_UNITS),
    views: new Map(),
    trials: new Map(),
    assumptions: 0,
  };
  const was = { references: yield* findReferencesSteps(before), pointer: "" };
  const is = { references: yield* findReferencesSteps(after), pointer: "" };
  yield;
  try {
    compareWhole(was, is, path, faults, work);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    faults.add(
      "not_comparable",
      path,
      `The schema has too many alternatives to show that ${path} stays compatible.`,
      "Change less at once, or add a new event type.",
    );
  }
}

/** Reports with paths, and each pair once, so that recursive schemas end. */
function compareWhole(
  before: SchemaAt,
  after: SchemaAt,
  path: string,
  faults: FaultList,
  work: Work,
): void {
  const seen = new Set<string>();
  function descend(was: SchemaAt, is: SchemaAt, place: string, isRoot = false): void {
    const pair = pairOf(was, is);
    if (seen.has(pair) || faults.isFull()) return;
    seen.add(pair);
    compare(was, is, place, { faults, work, descend }, isRoot);
  }
  descend(before, after, path, true);
}

function pairOf(before: SchemaAt, after: SchemaAt): string {
  return `${before.pointer}\n${after.pointer}`;
}

function compare(
  before: SchemaAt,
  after: SchemaAt,
  path: string,
  comparison: Comparison,
  isRoot = false,
): void {
  const { faults, work } = comparison;
  const [was, is] = [viewOf(before, work), viewOf(after, work)];
  spend(work.budget, UNITS_PER_PAIR);
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

function viewOf(at: SchemaAt, { budget, views }: Work): SchemaView {
  let known = views.get(at.references);
  if (known === undefined) views.set(at.references, known = new Map());
  let view = known.get(at.pointer);
  if (view === undefined) known.set(at.pointer, view = viewSchema(at, budget));
  return view;
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
  if (isSame || (isWider && (!bothDeclared || isWidened(before, after)))) return true;
  reportType(path, describeTypes(before), describeTypes(after), faults);
  return false;
}

function isWithin(inner: ReadonlySet<string>, outer: ReadonlySet<string>): boolean {
  return [...inner].every((type) => outer.has(type) || (type === "integer" && outer.has("number")));
}

/** What was valid stays valid, and readers can tell what is new from it. */
function isWidened(before: ReadonlySet<string>, after: ReadonlySet<string>): boolean {
  return [...after].every((type) =>
    before.has(type) || type === "null" || (type === "number" && before.has("integer"))
  );
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
  const { faults, work: { budget } } = comparison;
  for (const name of is.required) {
    spend(budget, UNITS_PER_NAME);
    if (was.required.has(name)) continue;
    faults.add(
      "required_added",
      joinKey(joinKey(path, "properties"), name),
      `${name} becomes required in ${path}; what senders write today would be refused.`,
      "Make it optional, or add a new event type that requires it.",
    );
  }
  compareDependents(was, is, path, comparison);
  if (was.isOpen && !is.isOpen) {
    faults.add(
      "additional_properties_closed",
      joinKey(path, "additionalProperties"),
      `${path} accepted additional properties and would now refuse them.`,
      "Leave additionalProperties out, or add a new event type that is strict.",
    );
  }
  for (const [name, after] of is.properties) {
    if (faults.isFull()) return;
    spend(budget, UNITS_PER_NAME);
    const before = was.properties.get(name);
    if (before !== undefined) {
      comparison.descend(before, after, joinKey(joinKey(path, "properties"), name));
    }
  }
}

/** What is asked for beside a property that senders may send today is asked for anew. */
function compareDependents(
  was: SchemaView,
  is: SchemaView,
  path: string,
  { faults, work: { budget } }: Comparison,
): void {
  for (const [trigger, names] of is.dependents) {
    // A property that is new may bring conditions of its own.
    if (!was.properties.has(trigger) && is.properties.has(trigger)) continue;
    const known = was.dependents.get(trigger);
    for (const name of names) {
      spend(budget, UNITS_PER_NAME);
      if (was.required.has(name) || known?.has(name)) continue;
      faults.add(
        "required_added",
        joinKey(joinKey(path, "dependentRequired"), trigger),
        `${name} becomes required beside ${trigger} in ${path}; what senders write today would ` +
          "be refused.",
        "Make it optional, or add a new event type that requires it.",
      );
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
    spend(comparison.work.budget, UNITS_PER_NAME);
    // Narrowing properties that have no name is not among the blocked changes.
    const isUnnamed = /^(?:additional|unevaluated|pattern)Properties/.test(name);
    const held = was.held.get(name) ??
      (name.startsWith("prefixItems.") ? was.held.get("items") : undefined);
    if (held === undefined && isUnnamed) continue;
    // A property that is new may bring conditions of its own.
    const trigger = /^dependentSchemas\.(.*)$/s.exec(name)?.[1];
    if (trigger !== undefined && !was.properties.has(trigger)) continue;
    if (name === "additionalProperties" && !is.isOpen) continue;
    comparison.descend(held ?? ANYTHING, after, heldPath(path, name));
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
    const sameIndex = after[index];
    // Mostly it stands where it stood.
    const likely = sameIndex === undefined ? after : [sameIndex, ...after];
    const finds = likely.some((branch) => isCompatible(before, branch, comparison.work));
    if (finds || sameIndex === undefined) continue;
    comparison.descend(before, sameIndex, joinIndex(joinKey(path, keyword), index));
  }
}

/** Whether nothing is blocked between the two, which may be forms in different places. */
function isCompatible(first: SchemaAt, second: SchemaAt, work: Work): boolean {
  spend(work.budget, UNITS_PER_PAIR);
  const [before, after] = [withoutDetour(first), withoutDetour(second)];
  const pair = pairOf(before, after);
  const known = work.trials.get(pair);
  if (known === "under way") work.assumptions++;
  if (known !== undefined) return known !== false;
  work.trials.set(pair, "under way");
  const assumptions = work.assumptions;
  const faults = createFaultList(1);
  const descend = (was: SchemaAt, is: SchemaAt) => {
    if (faults.isFull() || isCompatible(was, is, work)) return;
    faults.add("incompatible", "", "", "");
  };
  compare(before, after, "", { faults, work, descend });
  const isFine = faults.faults.length === 0;
  // What rests on something that is not shown yet is not kept.
  if (isFine && work.assumptions > assumptions) work.trials.delete(pair);
  else work.trials.set(pair, isFine);
  return isFine;
}
