/**
 * Checks scheduled events: each fires exactly once or is cancelled, never both. None fires
 * before its time, or after an event that cancels it has committed.
 */

import type { Census } from "./census.ts";
import { canonical, groupBy } from "./compare.ts";
import { type Evidence, nameOf, type Placed, placeName, type ScheduleLife } from "./evidence.ts";
import { type ExpectedSchedule, expectedSchedule } from "./expected_events.ts";
import { latestClockMs } from "./node.ts";

/** At most this long passes between a look at the clock and the commit. */
const LOOK_MS_MAX = 20_000;
const NEAR_MS = 100;
const MS_PER_SECOND = 1_000;

export function checkSchedules(evidence: Evidence, census: Census): string[] {
  const { events, schedules } = evidence;
  const faults: string[] = [];
  const lives = groupBy(schedules.values(), ({ record: { by } }) => placeName(by.key, by.streamId));
  const fired = groupBy(events, ({ event }) => event.metadata.scheduled?.scheduled_id);
  const byType = groupBy(events, ({ event }) => `${event.key} ${event.type}`);
  for (const placed of events) {
    const expected = expectedSchedule(placed.event);
    if (expected === undefined) continue;
    const name = nameOf(placed);
    const [life, ...more] = lives.get(name) ?? [];
    lives.delete(name);
    const cancels = expected.cancelledBy.flatMap((rule) => byType.get(rule) ?? [])
      .filter((cancel) => isAfter(cancel, placed)).sort((a, b) => a.version - b.version);
    if (life === undefined) {
      // An event that one commit both schedules and cancels leaves no trace.
      const isCancelled = cancels.some(({ version }) => version === placed.version);
      if (!isCancelled) faults.push(`${name}: nothing is scheduled`);
      continue;
    }
    const { id } = life.record;
    const own = fired.get(id) ?? [];
    fired.delete(id);
    const found = [
      ...more.map(() => "scheduled more than once"),
      ...checkRecord(placed, expected, life),
      ...checkEnd(evidence, life, own, cancels),
      ...checkFired(expected, life, own),
    ];
    faults.push(...found.map((fault) => `${name}, scheduled ${id}: ${fault}`));
    countLife(evidence, census, life, { fired: own, cancels });
  }
  for (const name of lives.keys()) faults.push(`${name} has scheduled what it should not`);
  for (const id of fired.keys()) faults.push(`${id} was never scheduled, and fired`);
  return faults;
}

/** Two events of one commit in different streams have no order. */
function isAfter(cancel: Placed, placed: Placed): boolean {
  if (cancel.version !== placed.version) return cancel.version > placed.version;
  return cancel.event.key === placed.event.key ? cancel.index > placed.index : true;
}

function* checkRecord(
  placed: Placed,
  { key, type, data, delayMs }: ExpectedSchedule,
  life: ScheduleLife,
) {
  const { emission, fireAtMs } = life.record;
  if (life.fromVersion !== placed.version) yield "it was scheduled by another commit";
  if (emission.key !== key || emission.eventType !== type) yield `it would write ${emission.key}`;
  if (canonical(emission.data) !== canonical(data)) yield "it would write other data";
  const lateMs = fireAtMs - delayMs - placed.event.metadata.timestamp * MS_PER_SECOND;
  if (lateMs < 0 || lateMs >= MS_PER_SECOND) yield `its time is ${lateMs} ms off`;
}

function* checkEnd(
  { world: { journal } }: Evidence,
  { record: { id }, toVersion, fromVersion }: ScheduleLife,
  fired: readonly Placed[],
  cancels: readonly Placed[],
): Generator<string> {
  if (toVersion === undefined) {
    yield "it waits for ever";
    return;
  }
  if (fired.length > 1) yield `it fired ${fired.length} times`;
  const deletes = journal.deletes.filter(({ scheduledId }) => scheduledId === id);
  const isDeleted = deletes.some(({ heard }) => heard === "acknowledged");
  if (isDeleted && fired.length > 0) yield "it was deleted, and fired";
  for (const { heard, version } of deletes) {
    if (heard !== "unknown" && toVersion > version) yield `a delete was ${heard} too early`;
  }
  const sure = cancels.find(({ version }) => version > fromVersion);
  if (sure !== undefined && sure.version < toVersion) yield `${nameOf(sure)} did not cancel it`;
  for (const { version, event, index } of fired) {
    const before = cancels.find((cancel) =>
      cancel.version === version && cancel.event.key === event.key && cancel.index < index
    );
    if (before !== undefined) yield `it fired after ${nameOf(before)} in the same commit`;
  }
  const isExplained = fired.length > 0 || cancels.some(({ version }) => version === toVersion) ||
    deletes.some(({ heard }) => heard !== "refused");
  if (!isExplained) yield "it went, and nobody cancelled it";
}

function* checkFired(
  { key, type, data }: ExpectedSchedule,
  { record: { fireAtMs }, toVersion }: ScheduleLife,
  fired: readonly Placed[],
) {
  for (const { event, version, commit } of fired) {
    const { actor, scheduled } = event.metadata;
    if (version !== toVersion) yield "it fired, and was there for another time";
    if (event.key !== key || event.type !== type || canonical(event.data) !== canonical(data)) {
      yield "another event fired";
    }
    if (actor.type !== "system_agent" || actor.id !== "event_scheduler") yield "by another actor";
    if (scheduled!.fire_at !== new Date(fireAtMs).toISOString()) yield "its fire_at is wrong";
    const clock = latestClockMs(commit.machine, commit.atMs, LOOK_MS_MAX);
    if (clock < fireAtMs) yield `it fired ${fireAtMs - clock} ms too early`;
  }
}

interface EventsOfLife {
  readonly fired: readonly Placed[];
  readonly cancels: readonly Placed[];
}

function countLife(
  { world: { commits } }: Evidence,
  census: Census,
  { record: { fireAtMs }, toVersion }: ScheduleLife,
  { fired, cancels }: EventsOfLife,
): void {
  if (toVersion === undefined) return;
  const { machine, atMs } = commits.get(toVersion)!;
  if (fired.length > 0) {
    census.count("schedules fired");
    const next = cancels.find(({ version }) => version > toVersion);
    if (next !== undefined && next.commit.atMs - atMs < NEAR_MS) {
      census.count("schedules fired within 100 ms before an event that cancels");
    }
  } else if (cancels.some(({ version }) => version === toVersion)) {
    census.count("schedules cancelled by an event");
    if (Math.abs(latestClockMs(machine, atMs, 0) - fireAtMs) < NEAR_MS) {
      census.count("schedules cancelled within 100 ms of their time");
    }
  }
}
