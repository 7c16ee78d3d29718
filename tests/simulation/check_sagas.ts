/**
 * Checks sagas: each trigger started one, and it took the only possible course. A plain model
 * walks the history a second time: given the definition, the events in the streams and the
 * clocks, every entry must be the only one that could come next.
 */

import { textOf } from "../../src/kv/byte_text.ts";
import type { SagaHistoryEntry } from "../../src/domain/saga/instance.ts";
import { keys } from "../../src/store/keys.ts";
import type { Census } from "./census.ts";
import { TENANT } from "./founding.ts";
import { groupBy } from "./compare.ts";
import { type Evidence, nameOf, type Placed, placeName, type SagaLife } from "./evidence.ts";
import { depthOf, startsSaga } from "./expected_events.ts";
import { latestClockMs } from "./node.ts";
import { type PlannedStep, planOf, refuses } from "./saga_plan.ts";
import { currentSpec } from "./spec_times.ts";

const LOOK_MS_MAX = 20_000;
const MS_PER_SECOND = 1_000;
const TIMEOUT_MS = 1_500;
const UNDO_TRIES_MAX = 8;

export function checkSagas(evidence: Evidence, census: Census): string[] {
  const { events, sagas } = evidence;
  const faults: string[] = [];
  const started = groupBy(sagas.values(), ({ states }) => {
    const { trigger } = states[0]!.record.instance;
    return placeName(trigger.key, trigger.stream_id);
  });
  const written = groupBy(events, ({ event }) => event.metadata.saga?.saga_id);
  for (const placed of events.filter(({ event }) => startsSaga(event))) {
    const name = nameOf(placed);
    const [life, ...more] = started.get(name) ?? [];
    started.delete(name);
    if (life === undefined) {
      faults.push(`${name} has started no saga`);
      continue;
    }
    if (more.length > 0) faults.push(`${name} has started ${1 + more.length} sagas`);
    const walk = walkSaga(evidence, placed, life, written.get(life.id) ?? []);
    written.delete(life.id);
    faults.push(...walk.map((fault) => `${life.id} of ${name}: ${fault}`));
    countSaga(census, life);
  }
  for (const name of started.keys()) faults.push(`${name} has started a saga, and should not`);
  for (const id of written.keys()) faults.push(`there are events of ${id}, and no such saga`);
  return faults;
}

/** One line of a history, and the version of the commit that wrote it. */
interface Line extends SagaHistoryEntry {
  readonly version: number;
}

/** A walk along one history. */
interface Walk {
  readonly evidence: Evidence;
  readonly trigger: Placed;
  readonly life: SagaLife;
  readonly lines: Line[];
  readonly faults: string[];
  /** Events of the saga that no line has named yet. */
  readonly unnamed: Placed[];
  readonly completed: PlannedStep[];
  amount: unknown;
}

/** Thrown at the first impossible line: everything after it would only be noise. */
class Astray extends Error {
  override readonly name = "Astray";
}

function walkSaga(
  evidence: Evidence,
  trigger: Placed,
  life: SagaLife,
  written: readonly Placed[],
): string[] {
  const walk: Walk = {
    evidence,
    trigger,
    life,
    lines: linesOf(life),
    faults: [],
    unnamed: [...written],
    completed: [],
    amount: undefined,
  };
  try {
    const state = goForward(walk) ? "completed" : goBack(walk) ? "compensated" : "failed";
    checkEnd(walk, state);
  } catch (error) {
    if (!(error instanceof Astray)) throw error;
    walk.faults.push(error.message);
  }
  return walk.faults;
}

function linesOf({ states }: SagaLife): Line[] {
  const lines: Line[] = [];
  for (const { version, record: { instance: { history } } } of states) {
    for (const entry of history.slice(lines.length)) lines.push({ ...entry, version });
  }
  return lines;
}

/** Takes the next line, which must report one of these outcomes of this step. */
function take({ lines }: Walk, step: string, outcomes: readonly string[]): Line {
  const line = lines.shift();
  if (line !== undefined && line.step === step && outcomes.includes(line.outcome)) return line;
  throw new Astray(`its history says ${JSON.stringify(line)} instead of ${step} ${outcomes}`);
}

/** Returns true if all steps are done. */
function goForward(walk: Walk): boolean {
  const { evidence: { world }, life, trigger, completed } = walk;
  for (const step of planOf(currentSpec(world, life.states[0]!.version))) {
    if (step.isFlagged && trigger.event.data.flag !== true) {
      take(walk, step.name, ["skipped"]);
      continue;
    }
    if (step.isPaid && !(typeof walk.amount === "number" && walk.amount > 0)) {
      take(walk, completed.pop()!.name, ["failed"]);
      return false;
    }
    const line = take(walk, step.name, ["emitted", "failed"]);
    const isRefused = refuses(currentSpec(world, line.version), step.emits);
    if (isRefused !== (line.outcome === "failed")) throw new Astray(`${step.name}: ${line.reason}`);
    if (isRefused) return false;
    const emitted = findWritten(walk, line, step.emits, "emit");
    if (!(step.awaits ? endWait(walk, step.name, emitted) : endAtOnce(walk, step, emitted))) {
      return false;
    }
    completed.push(step);
  }
  return true;
}

function endAtOnce(walk: Walk, { name }: PlannedStep, { event, index }: Placed): boolean {
  const { event: ended } = take(walk, name, ["completed"]);
  const isSame = ended?.key === event.key && Number(ended?.stream_id) === index;
  if (!isSame) walk.faults.push(`${name} was completed by another event`);
  return true;
}

/** The first awaited event after the emission counts, unless the timeout came before it. */
function endWait(walk: Walk, step: string, emitted: Placed): boolean {
  const { evidence: { streams, world: { commits } }, faults } = walk;
  const line = take(walk, step, ["completed", "failed"]);
  const payment = `payment:${emitted.event.key.split(":")[1]}`;
  const awaited = (streams.get(payment) ?? []).find(({ event: { type }, version }) =>
    version > emitted.version && (type === "was_captured" || type === "was_refused")
  );
  if (line.event === undefined) {
    if (line.outcome === "completed") faults.push(`${step} was completed by nothing`);
    if (awaited !== undefined && awaited.version < line.version) {
      faults.push(`${step} was out of time although ${nameOf(awaited)} was there`);
    }
    const { machine, atMs } = commits.get(line.version)!;
    const dueMs = emitted.event.metadata.timestamp * MS_PER_SECOND + TIMEOUT_MS;
    if (latestClockMs(machine, atMs, LOOK_MS_MAX) < dueMs) faults.push(`${step} ended too early`);
    return false;
  }
  const { key, stream_id, event_type } = line.event;
  if (awaited === undefined || nameOf(awaited) !== placeName(key, stream_id)) {
    faults.push(`${step} was ended by ${placeName(key, stream_id)}, which was not the first`);
  }
  const isGood = event_type === "was_captured";
  if (isGood !== (line.outcome === "completed")) faults.push(`${step}: ${line.outcome} by that`);
  walk.amount = awaited?.event.data.amount;
  return isGood;
}

/** Returns true if everything done is undone, in reverse order. */
function goBack(walk: Walk): boolean {
  const { evidence: { world }, completed } = walk;
  for (const { name, undoes } of completed.toReversed()) {
    if (undoes === undefined) continue;
    for (let tries = 1;; tries++) {
      const line = take(walk, name, ["compensated", "compensation_failed"]);
      const isRefused = refuses(currentSpec(world, line.version), undoes);
      if (isRefused !== (line.outcome === "compensation_failed")) {
        throw new Astray(`${name}: ${line.outcome} ${line.reason}`);
      }
      if (!isRefused) {
        findWritten(walk, line, undoes, "compensate");
        break;
      }
      if (tries === UNDO_TRIES_MAX) return false;
    }
  }
  return true;
}

/** Takes the event that a line names: it must exist, be as expected, and not be named before. */
function findWritten(
  walk: Walk,
  { event: named, version, step }: Line,
  [aggregateType, type]: PlannedStep["emits"],
  phase: "emit" | "compensate",
): Placed {
  const { trigger: { event: { key, data } }, unnamed, life, faults } = walk;
  const at = unnamed.findIndex((each) =>
    named !== undefined && nameOf(each) === placeName(named.key, named.stream_id)
  );
  const [found] = at < 0 ? [] : unnamed.splice(at, 1);
  if (found === undefined) throw new Astray(`${step}: the event of its line is not there`);
  const { event: { metadata }, event } = found;
  const actor = phase === "emit" ? "saga_coordinator" : "saga_compensator";
  const isRight = event.key === `${aggregateType}:${key.split(":")[1]}` && event.type === type &&
    event.data.of === data.n && found.version === version && metadata.actor.id === actor &&
    metadata.saga!.step === step && metadata.saga!.phase === phase &&
    metadata.saga!.saga_id === life.id && metadata.implied_by?.key === key &&
    depthOf(event) === depthOf(walk.trigger.event) + 1;
  if (!isRight) faults.push(`${step}: its event is not as it should be`);
  return found;
}

function checkEnd({ evidence, life, lines, unnamed, faults }: Walk, state: string): void {
  const { instance } = life.states.at(-1)!.record;
  if (instance.state !== state) faults.push(`it is ${instance.state} instead of ${state}`);
  if (instance.waiting !== undefined) faults.push("it waits for ever");
  if (lines.length > 0) faults.push(`its history goes on: ${JSON.stringify(lines)}`);
  for (const placed of unnamed) faults.push(`its history does not know of ${nameOf(placed)}`);
  const reports = evidence.errors.filter(({ record }) => record.context.saga_id === life.id);
  if (reports.length !== (state === "failed" ? 1 : 0)) faults.push(`${reports.length} errors`);
  for (const name of ["", instance.name]) {
    for (const each of ["running", "completed", "compensating", "compensated", "failed"]) {
      const listed = keys.sagaListed(TENANT.number, name, each, life.id);
      const isListed = evidence.world.store.history(textOf(listed)).at(-1)?.value !== undefined;
      if (isListed !== (each === state)) {
        faults.push(`it is listed as ${each}, or not: ${isListed}`);
      }
    }
  }
}

function countSaga(census: Census, { states }: SagaLife): void {
  const { instance: { state, history } } = states.at(-1)!.record;
  if (state === "completed") census.count("sagas completed");
  if (state === "compensated") census.count("sagas compensated");
  if (state === "failed") census.count("sagas failed");
  for (const { outcome, event, reason = "", step } of history) {
    if (outcome === "skipped") census.count("saga steps skipped");
    if (outcome === "compensated") census.count("saga compensations");
    if (outcome === "compensation_failed") census.count("saga compensations tried again");
    if (outcome !== "failed") continue;
    if (event !== undefined) census.count("saga steps refused by an event");
    else if (reason.includes("in time")) census.count("saga steps out of time");
    else if (step === "confirm") census.count("saga steps whose event could not be written");
  }
}
