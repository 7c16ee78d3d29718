/**
 * Finds the changes in a redeploy that would break senders, and lists all its changes.
 *
 * See docs/reference/specs.md.
 */

import { canonicalJson } from "../canonical_json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import type { Violation } from "../refusal.ts";
import { isSystemEventName } from "./document.ts";
import { createFaultList, type FaultList, joinKey } from "./fault_list.ts";
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
  for (const [name, typeBefore] of Object.entries(objectIn(before, "aggregate_types"))) {
    const path = joinKey("aggregate_types", name);
    if (Object.hasOwn(typesAfter, name)) {
      yield* compareEvents(typeBefore, typesAfter[name]!, `${path}.events`, faults);
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
  for (const [name, eventBefore] of Object.entries(objectIn(before, "events"))) {
    // A system event belongs to the platform: its entry is only a handler, which may always
    // change.
    if (isSystemEventName(name)) continue;
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
    const schemaBefore = isJsonObject(eventBefore) ? eventBefore.schema : undefined;
    const eventAfter = eventsAfter[name];
    const schemaAfter = isJsonObject(eventAfter) ? eventAfter.schema : undefined;
    if (schemaBefore === undefined || schemaAfter === undefined) continue;
    yield* compareEventSchemas(schemaBefore, schemaAfter, `${place}.schema`, faults);
    yield;
    if (faults.isFull()) return;
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
  const lines: string[] = [];
  yield* describeObject(before ?? {}, after, { path: "", depth: DEPTH_OF_PARTS, lines });
  if (lines.length <= LINES_MAX) return lines;
  const more = lines.length - LINES_MAX;
  return [...lines.slice(0, LINES_MAX), `and ${more} more`];
}

/** The depth that lines describe: root key, aggregate type, `events`, event type, part of it. */
const DEPTH_OF_PARTS = 5;

interface DescribedPlace {
  readonly path: string;
  readonly depth: number;
  readonly lines: string[];
}

function* describeObject(
  before: JsonObject,
  after: JsonObject,
  { path, depth, lines }: DescribedPlace,
): Steps<void> {
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) lines.push(`removed ${joinKey(path, key)}`);
  }
  for (const [key, value] of Object.entries(after)) {
    const place = joinKey(path, key);
    if (!Object.hasOwn(before, key)) describeAdded(value, place, depth, lines);
    else {
      const old = before[key]!;
      const goesDeeper = depth > 1 && isJsonObject(old) && isJsonObject(value);
      if (goesDeeper) yield* describeObject(old, value, { path: place, depth: depth - 1, lines });
      else if (canonicalJson(old) !== canonicalJson(value)) lines.push(`changed ${place}`);
      yield;
    }
  }
}

/** Lists a new container by its members, so that a first deploy lists every event type. */
function describeAdded(value: JsonValue, path: string, depth: number, lines: string[]): void {
  const isContainer = path === "aggregate_types" || /^aggregate_types\.[^.]+$/.test(path) ||
    /^aggregate_types\.[^.]+\.events$/.test(path);
  const members = isContainer && isJsonObject(value) ? Object.entries(value) : [];
  if (members.length === 0) lines.push(`added ${path}`);
  for (const [key, member] of members) describeAdded(member, joinKey(path, key), depth - 1, lines);
}
