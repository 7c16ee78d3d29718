/**
 * Compares two versions of one event schema, through every nested schema.
 *
 * Three kinds of change are blocked: a property becomes required, a type changes, or an object
 * stops accepting additional properties. A declared type may not become another declared one,
 * except that `integer` may become `number` and `null` may be added. A property that accepted
 * any type may not be restricted to one. Dropping a type, a property or a whole schema is
 * allowed, because a retired event type should be kept with a permissive schema. See
 * docs/reference/specs.md.
 */

import { BudgetSpent, newBudget, spend } from "../budget.ts";
import type { JsonValue } from "../json.ts";
import type { Steps } from "../fairness/pieces.ts";
import { isSameJsonSteps } from "../same_json.ts";
import { createFaultList, type FaultList, joinIndex, joinKey } from "./fault_list.ts";
import { findReferences, findReferencesSteps, type Place } from "./schema/references.ts";
import {
  type Detours,
  type SchemaAt,
  type SchemaView,
  unitsOfLong,
  type Viewing,
  viewSchema,
  wholeSchema,
  withoutDetour,
} from "./schema/view.ts";

/** Budget for comparing two versions of one schema, in the units of `budget.ts`. */
const COMPARISON_UNITS = 4_000_000;
const UNITS_PER_PAIR = 64;
const UNITS_PER_NAME = 16;

interface Comparison {
  readonly faults: FaultList;
  readonly work: Work;
  /** Continues with two nested schemas of the two being compared. */
  readonly descend: (before: SchemaAt, after: SchemaAt, path: string) => Steps<void>;
}

/** Shared by the comparison and all trials of one alternative against another. */
interface Work extends Viewing {
  readonly detours: Detours;
  /** Whether everything valid under the first schema stays valid under the second. */
  readonly trials: Pairs<boolean | "under way">;
  /** How many times a trial has relied on the result of another one that is still under way. */
  assumptions: number;
}

/** What is known of two schemas, by the places of the first one and the second one. */
type Pairs<V> = Map<Place, Map<Place, V>>;

/**
 * Reports each blocked change between `before` and `after`, both valid schemas of an event
 * type.
 */
export function* compareEventSchemas(
  before: JsonValue,
  after: JsonValue,
  path: string,
  faults: FaultList,
): Steps<void> {
  if (yield* isSameJsonSteps(before, after)) return;
  yield;
  const work = {
    budget: newBudget(COMPARISON_UNITS),
    views: new Map(),
    detours: new Map(),
    trials: new Map(),
    assumptions: 0,
  };
  const was = wholeSchema(yield* findReferencesSteps(before));
  const is = wholeSchema(yield* findReferencesSteps(after));
  yield;
  try {
    yield* compareWhole({ before: was, after: is }, path, faults, work);
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

interface SchemaPair {
  readonly before: SchemaAt;
  readonly after: SchemaAt;
}

/** Reports faults with their paths. Visits each pair once, so that recursive schemas end. */
function* compareWhole(
  { before, after }: SchemaPair,
  path: string,
  faults: FaultList,
  work: Work,
): Steps<void> {
  const seen: Pairs<true> = new Map();
  function* descend(was: SchemaAt, is: SchemaAt, place: string, isRoot = false): Steps<void> {
    const known = pairsOf(was, seen);
    if (known.has(is.place) || faults.isFull()) return;
    known.set(is.place, true);
    yield* compare({ before: was, after: is }, place, { faults, work, descend }, isRoot);
  }
  yield* descend(before, after, path, true);
}

/** Those whose first schema is this one. */
function pairsOf<V>({ place }: SchemaAt, pairs: Pairs<V>): Map<Place, V> {
  let known = pairs.get(place);
  if (known === undefined) pairs.set(place, known = new Map());
  return known;
}

function* compare(
  { before, after }: SchemaPair,
  path: string,
  comparison: Comparison,
  isRoot = false,
): Steps<void> {
  yield;
  const { faults, work } = comparison;
  const was = yield* viewSchema(before, work);
  yield;
  const is = yield* viewSchema(after, work);
  spend(work.budget, UNITS_PER_PAIR);
  if (was.isFalse) return;
  if (!keepsType({ was, is }, path, isRoot, faults)) return;
  if (was.types === undefined || was.types.has("object")) {
    yield* compareObjects(was, is, path, comparison);
  }
  yield* compareHeld(was, is, path, comparison);
  for (const keyword of ["anyOf", "oneOf"] as const) {
    yield* compareBranches({ was, is }, keyword, path, comparison);
  }
}

interface ViewPair {
  readonly was: SchemaView;
  readonly is: SchemaView;
}

/** Blocks a changed type. Event data is always an object, so a root need not declare it. */
function keepsType(
  { was, is }: ViewPair,
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

/** Whether valid values stay valid and readers can tell the new ones from them. */
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

/** Blocks new required properties and closed objects, then compares the properties both have. */
function* compareObjects(
  was: SchemaView,
  is: SchemaView,
  path: string,
  comparison: Comparison,
): Steps<void> {
  const { faults, work: { budget } } = comparison;
  for (const name of is.required.keys()) {
    if (faults.isFull()) return;
    yield;
    spend(budget, UNITS_PER_NAME + unitsOfLong(name));
    if (was.required.has(name)) continue;
    faults.add(
      "required_added",
      joinKey(joinKey(path, "properties"), name),
      `${name} becomes required in ${path}; what senders write today would be refused.`,
      "Make it optional, or add a new event type that requires it.",
    );
  }
  yield* compareDependents(was, is, path, comparison);
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
    yield;
    spend(budget, UNITS_PER_NAME + unitsOfLong(name));
    const before = was.properties.get(name);
    if (before !== undefined) {
      yield* comparison.descend(before, after, joinKey(joinKey(path, "properties"), name));
    }
  }
}

/** Blocks new requirements that depend on a property which senders may send today. */
function* compareDependents(
  was: SchemaView,
  is: SchemaView,
  path: string,
  { faults, work: { budget } }: Comparison,
): Steps<void> {
  for (const [trigger, names] of is.dependents) {
    // A new property may bring its own requirements.
    if (!was.properties.has(trigger) && is.properties.has(trigger)) continue;
    const known = was.dependents.get(trigger);
    for (const name of names.keys()) {
      if (faults.isFull()) return;
      yield;
      spend(budget, UNITS_PER_NAME + unitsOfLong(name));
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

/** Compares `items` and the like; where one side has none, it accepts anything there. */
function* compareHeld(
  was: SchemaView,
  is: SchemaView,
  path: string,
  comparison: Comparison,
): Steps<void> {
  for (const [name, after] of is.held) {
    spend(comparison.work.budget, UNITS_PER_NAME + unitsOfLong(name));
    // Narrowing properties that have no name is not a blocked change.
    const isUnnamed = /^(?:additional|unevaluated|pattern)Properties/.test(name);
    const held = was.held.get(name) ??
      (name.startsWith("prefixItems.") ? was.held.get("items") : undefined);
    if (held === undefined && isUnnamed) continue;
    // A new property may bring its own requirements.
    const trigger = /^dependentSchemas\.(.*)$/s.exec(name)?.[1];
    if (trigger !== undefined && !was.properties.has(trigger)) continue;
    if (name === "additionalProperties" && !is.isOpen) continue;
    yield* comparison.descend(held ?? ANYTHING, after, heldPath(path, name));
  }
}

/** The schema `true`. */
const ANYTHING: SchemaAt = wholeSchema(findReferences(true));

function heldPath(path: string, name: string): string {
  const dot = name.indexOf(".");
  if (dot === -1) return joinKey(path, name);
  const [keyword, key] = [name.slice(0, dot), name.slice(dot + 1)];
  const place = joinKey(path, keyword);
  return keyword === "prefixItems" ? joinIndex(place, Number(key)) : joinKey(place, key);
}

/** Each alternative that was accepted must find one that still accepts it, at whatever position. */
function* compareBranches(
  { was, is }: ViewPair,
  keyword: "anyOf" | "oneOf",
  path: string,
  comparison: Comparison,
): Steps<void> {
  const after = is.branches.get(keyword) ?? [];
  if (after.length === 0) return;
  for (const [index, before] of (was.branches.get(keyword) ?? []).entries()) {
    if (comparison.faults.isFull()) return;
    const sameIndex = after[index];
    // Usually it is still at the same position.
    const likely = sameIndex === undefined ? after : [sameIndex, ...after];
    let finds = false;
    for (const branch of likely) {
      finds = yield* isCompatible(before, branch, comparison.work);
      if (finds) break;
    }
    if (finds || sameIndex === undefined) continue;
    yield* comparison.descend(before, sameIndex, joinIndex(joinKey(path, keyword), index));
  }
}

/** Whether nothing is blocked between the two, which may be alternatives at different positions. */
function* isCompatible(first: SchemaAt, second: SchemaAt, work: Work): Steps<boolean> {
  yield;
  const { budget, detours } = work;
  spend(budget, UNITS_PER_PAIR);
  const before = withoutDetour(first, detours, budget);
  const after = withoutDetour(second, detours, budget);
  const trials = pairsOf(before, work.trials);
  const known = trials.get(after.place);
  if (known === "under way") work.assumptions++;
  if (known !== undefined) return known !== false;
  trials.set(after.place, "under way");
  const assumptions = work.assumptions;
  const faults = createFaultList(1);
  function* descend(was: SchemaAt, is: SchemaAt): Steps<void> {
    if (faults.isFull() || (yield* isCompatible(was, is, work))) return;
    faults.add("incompatible", "", "", "");
  }
  yield* compare({ before, after }, "", { faults, work, descend });
  const isFine = faults.faults.length === 0;
  // Do not keep a result that relies on another one not yet known.
  if (isFine && work.assumptions > assumptions) trials.delete(after.place);
  else trials.set(after.place, isFine);
  return isFine;
}
