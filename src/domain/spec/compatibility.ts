/**
 * Finds the changes in a redeploy that would break senders, and lists all its changes.
 *
 * See docs/reference/specs.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { Violation } from "../refusal.ts";
import { isSameJsonSteps } from "../same_json.ts";
import { isSystemEventName } from "./document.ts";
import { createFaultList, type FaultList, joinKey, shorten } from "./fault_list.ts";
import { compareEventSchemas } from "./schema_compatibility.ts";

/**
 * The blocked changes from one deployed document to the next, each with its path and what to do
 * instead; empty if the redeploy is compatible. Both documents must have compiled.
 */
export function checkCompatibility(before: JsonObject, after: JsonObject): Violation[] {
  return runAtOnce(compatibilitySteps(before, after));
}

/** The same in time slices, for documents that may be large. */
export function* compatibilitySteps(before: JsonObject, after: JsonObject): Steps<Violation[]> {
  const faults = createFaultList();
  const typesAfter = objectIn(after, "aggregate_types");
  const typesBefore = objectIn(before, "aggregate_types");
  for (const name of Object.keys(typesBefore)) {
    if (faults.isFull()) break;
    yield;
    const path = joinKey("aggregate_types", name);
    if (Object.hasOwn(typesAfter, name)) {
      yield* compareEvents(typesBefore[name]!, typesAfter[name]!, `${path}.events`, faults);
    } else {
      faults.add(
        "aggregate_type_removed",
        path,
        `Aggregate type "${name}" is removed; its aggregates could no longer be read.`,
        "Keep it; to retire it, give its event types permissive schemas and [] handlers.",
      );
    }
  }
  return [...faults.faults];
}

function* compareEvents(
  before: JsonValue,
  after: JsonValue,
  path: string,
  faults: FaultList,
): Steps<void> {
  const eventsAfter = objectIn(after, "events");
  const eventsBefore = objectIn(before, "events");
  for (const name of Object.keys(eventsBefore)) {
    // A system event belongs to the platform: its entry is only a handler, which may always
    // change.
    if (isSystemEventName(name)) continue;
    if (faults.isFull()) return;
    yield;
    const place = joinKey(path, name);
    if (!Object.hasOwn(eventsAfter, name)) {
      faults.add(
        "event_type_removed",
        place,
        `Event type "${name}" is removed; stored events of it could no longer be folded.`,
        "Keep it with a permissive schema and a [] handler.",
      );
      continue;
    }
    const eventBefore = eventsBefore[name];
    const schemaBefore = isJsonObject(eventBefore) ? eventBefore.schema : undefined;
    const eventAfter = eventsAfter[name];
    const schemaAfter = isJsonObject(eventAfter) ? eventAfter.schema : undefined;
    if (schemaBefore === undefined || schemaAfter === undefined) continue;
    yield* compareEventSchemas(schemaBefore, schemaAfter, `${place}.schema`, faults);
  }
}

function objectIn(value: JsonValue, key: string): JsonObject {
  const inner = isJsonObject(value) ? value[key] : undefined;
  return isJsonObject(inner) ? inner : {};
}

/** Lines in one answer: the number of changes is bounded, but more are not worth reading. */
const LINES_MAX = 200;

/**
 * One line for each difference, e.g. `changed aggregate_types.order.events.was_paid.handler`;
 * empty if the documents are equal. Without `before`, everything counts as added.
 */
export function describeChanges(before: JsonObject | undefined, after: JsonObject): string[] {
  return runAtOnce(changesSteps(before, after));
}

/** The same in time slices, for documents that may be large. */
export function* changesSteps(
  before: JsonObject | undefined,
  after: JsonObject,
): Steps<string[]> {
  const lines: Lines = { first: [], count: 0 };
  yield* describeObject(before ?? {}, after, { path: "", depth: DEPTH_OF_PARTS, lines });
  const more = lines.count - lines.first.length;
  return more === 0 ? lines.first : [...lines.first, `and ${more} more`];
}

/** The first lines of the answer, and how many there would be. */
interface Lines {
  readonly first: string[];
  count: number;
}

function addLine(lines: Lines, verb: "added" | "removed" | "changed", path: string): void {
  if (++lines.count <= LINES_MAX) lines.first.push(`${verb} ${path}`);
}

/** The depth that lines describe: root key, aggregate type, `events`, event type, part of it. */
const DEPTH_OF_PARTS = 5;

interface DescribedPlace {
  readonly path: string;
  readonly depth: number;
  readonly lines: Lines;
}

function* describeObject(
  before: JsonObject,
  after: JsonObject,
  { path, depth, lines }: DescribedPlace,
): Steps<void> {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) addLine(lines, "removed", joinKey(path, key));
    yield;
  }
  for (const key of Object.keys(after)) {
    const value = after[key]!;
    const place = joinKey(path, key);
    if (!Object.hasOwn(before, key)) yield* describeAdded(value, place, lines);
    else {
      const old = before[key]!;
      const goesDeeper = depth > 1 && isJsonObject(old) && isJsonObject(value);
      if (goesDeeper) yield* describeObject(old, value, { path: place, depth: depth - 1, lines });
      else if (!(yield* isSameJsonSteps(old, value))) addLine(lines, "changed", place);
      yield;
    }
  }
}

/** Lists a new container by its members, so that a first deploy lists every event type. */
function* describeAdded(value: JsonValue, path: string, lines: Lines): Steps<void> {
  yield;
  const isContainer = path === "aggregate_types" || /^aggregate_types\.[^.]+$/.test(path) ||
    /^aggregate_types\.[^.]+\.events$/.test(path);
  const members = isContainer && isJsonObject(value) ? value : {};
  const keys = Object.keys(members);
  if (keys.length === 0) addLine(lines, "added", path);
  for (const key of keys) yield* describeAdded(members[key]!, joinKey(path, key), lines);
}

/** The actors and targets whose writes the new spec refuses; at most `limits.violationsMax`. */
export function* cutPartiesSteps(before: JsonObject, after: JsonObject): Steps<Violation[]> {
  const actors = yield* removedSteps(before.agent_types, after.agent_types);
  const targets = yield* removedSteps(before.target_types, after.target_types);
  return [...actors.map(cutActors), ...targets.map(cutTargets)].slice(0, limits.violationsMax);
}

/** The first names that are no longer listed. */
export function* removedSteps(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): Steps<string[]> {
  const kept = new Set<JsonValue>();
  const removed: string[] = [];
  for (const name of Array.isArray(after) ? after : []) {
    yield;
    kept.add(name);
  }
  for (const name of Array.isArray(before) ? before : []) {
    yield;
    if (typeof name !== "string" || kept.has(name)) continue;
    if (removed.push(name) === limits.violationsMax) break;
  }
  return removed;
}

function cutActors(name: string): Violation {
  return {
    rule: "agent_type_removed",
    path: "agent_types",
    message: `Agent type "${shorten(name)}" is removed: writes of its actors are refused.`,
    hint: "Keep it until nobody writes with metadata.actor.type of that name.",
  };
}

function cutTargets(name: string): Violation {
  return {
    rule: "target_type_removed",
    path: "target_types",
    message: `Target type "${shorten(name)}" is removed: writes with such a target are refused.`,
    hint: "Keep it until nobody writes with metadata.target.type of that name.",
  };
}
