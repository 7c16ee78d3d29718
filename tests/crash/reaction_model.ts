/**
 * Judges what the service has written by itself: pure functions over the journals. Each implied
 * event is there once with the right content; what must not be there is not. See
 * docs/reference/reactions.md and docs/reference/sagas.md.
 */

import { ACTOR } from "./api.ts";
import type { Journal, Operation } from "./journal.ts";
import {
  type Effect,
  type Ending,
  hasLanded,
  type Job,
  possibleEffects,
  type ReactionJournal,
  type Reminder,
  type Trigger,
} from "./reaction_journal.ts";
import { POLL_TIMEOUT_MS } from "./reaction_spec.ts";
import type { JudgeUnsent, UnsentEvent } from "./stream_model.ts";

export interface Journals {
  readonly journal: Journal;
  readonly reactions: ReactionJournal;
}

const SECOND_MS = 1000;

/**
 * Takes each event of the service as it is found and returns what is wrong with it on its own.
 */
export function judgeEffects(reactions: ReactionJournal, nowMs: () => number): JudgeUnsent {
  return (event) => {
    const effect = reactions.effectOf(event.data.token);
    const name = `${event.type} ${event.data.token}`;
    if (effect === undefined) return [`nothing sets it off: ${name}`];
    const faults: string[] = [];
    const expect = (holds: boolean, fault: string) => holds || faults.push(`${name}: ${fault}`);
    expect(effect.found === undefined, `a second time; first at ${JSON.stringify(effect.found)}`);
    expect(event.key === effect.key, `it belongs to ${effect.key}`);
    expect(event.type === effect.type, `its type should be ${effect.type}`);
    expect(JSON.stringify(event.data) === JSON.stringify(effect.data), "other data than asked for");
    if (effect.author === "scheduler") faults.push(...earlyFaults(event, nowMs()));
    const { position, id, metadata } = event;
    effect.found ??= { position, id, metadata };
    return faults;
  };
}

function earlyFaults({ metadata }: UnsentEvent, nowMs: number): string[] {
  const fireAtMs = Date.parse((metadata.scheduled as { fire_at: string } | undefined)?.fire_at!);
  const timestamp = metadata.timestamp as number;
  if (fireAtMs <= nowMs && timestamp >= Math.floor(fireAtMs / SECOND_MS)) return [];
  return [`fired too early: ${JSON.stringify(metadata)}, found at ${nowMs}`];
}

/** A write that is not stored must have triggered nothing. */
export function orphanFaults({ journal }: Journals, trigger: Trigger): string[] {
  if (hasLanded(trigger.operation, journal)) return [];
  return possibleEffects(trigger).filter(({ found }) => found !== undefined)
    .map((effect) => `${nameOf(effect)} is there, but what sets it off is not`);
}

/** The error records that a trigger leaves once everything is done. */
export function expectedErrors({ journal }: Journals, trigger: Trigger): readonly string[] {
  return hasLanded(trigger.operation, journal) ? trigger.errors : [];
}

/** Once everything is done: exactly what must be there is there. */
export function triggerFaults(journals: Journals, trigger: Trigger): string[] {
  if (!hasLanded(trigger.operation, journals.journal)) return orphanFaults(journals, trigger);
  const { effects, reminder, job } = trigger;
  const faults = effects.flatMap((effect) => presenceFaults(effect, true));
  if (reminder !== undefined) faults.push(...reminderFaults(journals, trigger, reminder));
  if (job !== undefined) faults.push(...jobFaults(journals, trigger, job));
  for (const effect of possibleEffects(trigger)) {
    if (effect.found !== undefined) faults.push(...stampFaults(journals, effect));
  }
  return faults;
}

function presenceFaults(effect: Effect, isExpected: boolean): string[] {
  if ((effect.found !== undefined) === isExpected) return [];
  return [`${nameOf(effect)} ${isExpected ? "is missing" : "must not be there"}`];
}

function reminderFaults(journals: Journals, trigger: Trigger, reminder: Reminder): string[] {
  const { effect, implied } = reminder;
  const verdict = reminderVerdict(journals, trigger, reminder);
  const isThere = effect.found !== undefined;
  const faults = verdict === "either" ? [] : presenceFaults(effect, verdict === "fires");
  faults.push(...implied.flatMap((after) => presenceFaults(after, isThere)));
  if (!isThere) return faults;
  const span = journals.reactions.spans.get(trigger.operation)!;
  const { fire_at } = effect.found!.metadata.scheduled as { fire_at: string };
  const setMs = Date.parse(fire_at) - reminder.delayMs;
  if (setMs < span.sentMs || setMs > span.heardMs) {
    faults.push(`${nameOf(effect)}: fire_at ${fire_at} for ${JSON.stringify({ span, reminder })}`);
  }
  const firedS = effect.found!.metadata.timestamp as number;
  for (const cancel of landedCancels(journals, reminder)) {
    const { sentMs, heardMs } = journals.reactions.spans.get(cancel)!;
    if (sentMs > span.heardMs && firedS > Math.floor(heardMs / SECOND_MS)) {
      faults.push(`${nameOf(effect)} fired after write ${cancel.number} had cancelled it`);
    }
  }
  return faults;
}

/** `either`: a cancelling event was under way when the reminder was set or when it was due. */
export function reminderVerdict(
  journals: Journals,
  trigger: Trigger,
  reminder: Reminder,
): "fires" | "cancelled" | "either" {
  const { spans, removals } = journals.reactions;
  const set = spans.get(trigger.operation)!;
  const removed = removals.get(reminder.effect.token) ?? [];
  if (removed.some(({ outcome }) => outcome === "cancelled")) return "cancelled";
  const cancels = landedCancels(journals, reminder).map((cancel) => spans.get(cancel)!);
  const isInTime = cancels.some(({ sentMs, heardMs }) =>
    sentMs > set.heardMs && heardMs < set.sentMs + reminder.delayMs
  );
  if (isInTime) return "cancelled";
  const isPossible = removed.length > 0 || cancels.some(({ heardMs }) => heardMs >= set.sentMs);
  return isPossible ? "either" : "fires";
}

function landedCancels({ journal, reactions }: Journals, { cancelOn }: Reminder): Operation[] {
  return cancelOn.flatMap((name) => reactions.cancels.get(name) ?? [])
    .filter((operation) => hasLanded(operation, journal));
}

function jobFaults(journals: Journals, trigger: Trigger, job: Job): string[] {
  const allowed = allowedEndings(journals, trigger, job);
  // Events do not distinguish some endings: any allowed one will do.
  const tries = allowed.map((ending) => endingFaults(journals, job, ending));
  const best = tries.find((faults) => faults.length === 0) ?? tries[0];
  return best!.map((fault) => `saga of ${job.started}, which may have ${allowed}: ${fault}`);
}

/** How a saga may have ended, given what is known of the answers to it. */
export function allowedEndings(
  { journal, reactions }: Journals,
  trigger: Trigger,
  job: Job,
): readonly Ending[] {
  if (job.ending !== undefined) return [job.ending];
  const answers = (reactions.answers.get(job.track) ?? []).filter(({ operation }) =>
    hasLanded(operation, journal)
  );
  const endings = answers.map(({ ending }) => ending);
  // The question was asked after the job was sent, so it waited at least until then.
  const untilMs = reactions.spans.get(trigger.operation)!.sentMs + POLL_TIMEOUT_MS;
  const isInTime = answers.some(({ operation }) =>
    reactions.spans.get(operation)!.heardMs < untilMs
  );
  return isInTime ? endings : [...endings, "silent"];
}

/** The parts of an ending in the order in which they were written. */
export function partsOfEnding(job: Job, ending: Ending): string[] {
  const before = ["take", "pack", ...(job.isWrapped ? ["wrap"] : [])];
  if (ending === "completed") return [...before, "ask", "finish", "close"];
  const completed = ending === "unfit" ? [...before, "ask"] : before;
  return [...before, "ask", ...completed.toReversed().map((step) => `${step}_undo`)];
}

/** The lines that an ending leaves in the history of the saga. */
export function historyOfEnding(job: Job, ending: Ending): string[] {
  const done = (step: string) => [`${step} emitted`, `${step} completed`];
  const start = [...done("take"), ...done("pack")];
  start.push(...job.isWrapped ? done("wrap") : ["wrap skipped"], "ask emitted");
  if (ending === "completed") {
    return [...start, "ask completed", ...done("finish"), ...done("close")];
  }
  if (ending === "unfit") start.push("ask completed", "finish failed");
  else start.push(...ending === "bad" ? ["ask completed"] : [], "ask failed");
  const undone = partsOfEnding(job, ending).filter((part) => part.endsWith("_undo"));
  return [...start, ...undone.map((part) => `${part.replace("_undo", "")} compensated`)];
}

function endingFaults(journals: Journals, job: Job, ending: Ending): string[] {
  const parts = partsOfEnding(job, ending);
  const faults: string[] = [];
  for (const [name, part] of job.parts) {
    const isExpected = parts.includes(name);
    faults.push(...presenceFaults(part, isExpected));
    const implied = job.implied.get(part.token) ?? [];
    faults.push(...implied.flatMap((effect) => presenceFaults(effect, isExpected)));
  }
  const onTrack = parts.map((name) => job.parts.get(name)!).filter(({ key }) => key === job.track);
  const positions = onTrack.map(({ found }) => found?.position ?? NaN);
  if (positions.some((position, index) => index > 0 && position <= positions[index - 1]!)) {
    faults.push(`${job.track}: out of order: ${parts} at ${positions}`);
  }
  const expected = new Set(parts);
  const answered = answerOf(job);
  const asked = job.parts.get("ask")!.found;
  const closed = job.parts.get("close")!.found;
  if (expected.has("close") && answered?.found !== undefined && asked && closed) {
    const { position } = answered.found;
    if (position <= asked.position || position >= closed.position) {
      faults.push(`${job.track}: closed without waiting for the answer`);
    }
  }
  if (ending !== "silent" && job.ending === undefined) {
    faults.push(...lateAnswerFaults(journals, job));
  }
  return faults;
}

/** The answer that the question itself implies, unless a client must answer. */
function answerOf(job: Job): Effect | undefined {
  return job.implied.get(job.parts.get("ask")!.token)?.[0];
}

/** A saga that was ended by a client's answer continues only after that answer. */
function lateAnswerFaults({ journal, reactions }: Journals, job: Job): string[] {
  const places = (reactions.answers.get(job.track) ?? [])
    .flatMap(({ operation }) => journal.placesOf(operation))
    .flatMap(({ position }) => position ?? []);
  const next = job.parts.get("close")!.found ??
    job.parts.get(job.isWrapped ? "wrap_undo" : "pack_undo")!.found;
  if (next === undefined || places.some((position) => position < next.position)) return [];
  return [`${job.track}: it went on before it was answered`];
}

/** Checks the author and the recorded cause of an effect. */
function stampFaults({ journal, reactions }: Journals, effect: Effect): string[] {
  const { metadata } = effect.found!;
  const { author, step } = effect;
  const by = causeOf(journal, reactions, effect);
  if (by === undefined) return [`${nameOf(effect)} is there without what it follows from`];
  const told = JSON.stringify([metadata.actor, metadata.implied_by]);
  const actor = author === "implication"
    ? by.actor
    : { type: "system_agent", id: author === "scheduler" ? "event_scheduler" : `saga_${author}` };
  const impliedBy = author === "scheduler" ? undefined : {
    key: by.key,
    event_type: by.type,
    stream_id: by.id,
    depth: by.depth + 1,
  };
  const expected = JSON.stringify([actor, impliedBy]);
  const faults = told === expected ? [] : [`${nameOf(effect)}: ${told}, expected ${expected}`];
  if (step === undefined) return faults;
  const saga = metadata.saga as { step?: string; phase?: string } | undefined;
  const phase = author === "coordinator" ? "emit" : "compensate";
  if (saga?.step === step && saga.phase === phase) return faults;
  return [...faults, `${nameOf(effect)}: ${JSON.stringify(saga)}, expected ${step} ${phase}`];
}

function causeOf(journal: Journal, reactions: ReactionJournal, { cause }: Effect) {
  const place = journal.placeOf(cause);
  if (place !== undefined) {
    const { aggregateType, id, events } = place.operation.targets[place.target]!;
    const { type } = events[place.event]!;
    return { key: `${aggregateType}:${id}`, type, id: place.id, actor: ACTOR, depth: 0 };
  }
  const effect = reactions.effectOf(cause);
  if (effect?.found === undefined) return undefined;
  const { id, metadata } = effect.found;
  const { depth = 0 } = metadata.implied_by as { depth?: number } | undefined ?? {};
  return { key: effect.key, type: effect.type, id, actor: metadata.actor, depth };
}

function nameOf({ key, type, token }: Effect): string {
  return `${key} ${type} ${token}`;
}
