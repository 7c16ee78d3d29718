/**
 * The checks of a reaction crash run: after each restart, until all work is done, and at the
 * end.
 */

import {
  absorbStreams,
  type Check,
  concurrently,
  everyStreamIsWhole,
  keyedRetriesHaveOneEffect,
  type Life,
  listingsAgree,
  readsOfStreamsAgree,
  streamsHoldWhatWasSent,
} from "./checks.ts";
import {
  errorName,
  hasLanded,
  possibleEffects,
  type ReactionJournal,
  type Trigger,
} from "./reaction_journal.ts";
import {
  allowedEndings,
  expectedErrors,
  historyOfEnding,
  orphanFaults,
  triggerFaults,
} from "./reaction_model.ts";
import { cancelWhileFiring } from "./remove_scheduled.ts";
import { REACTION_SPEC } from "./reaction_spec.ts";

export interface ReactionChecks {
  readonly standard: readonly Check[];
  /** Waits until everything is done. */
  readonly drained: Check;
  readonly final: readonly Check[];
}

/** Effects written later than this after their trigger are checked only at the end. */
const FOLLOWED_MS = 10_000;
/** A commit on its way to a cluster lands at most this long after the kill. */
const LANDING_MS_MAX = 100;
const POLL_MS = 200;
const FAULTS_MAX = 20;

export function reactionChecks(reactions: ReactionJournal, drainMsMax: number): ReactionChecks {
  const standard: Check[] = [
    { name: "streams hold what was sent", run: streamsHoldWhatWasSent },
    { name: "keyed retries have one effect", run: (life) => retryKeyed(life, reactions) },
    { name: "nothing follows from nothing", run: (life) => nothingFromNothing(life, reactions) },
  ];
  return {
    standard: [
      ...standard,
      { name: "cancelled or fired", run: (life) => cancelWhileFiring(life, reactions) },
    ],
    drained: { name: "all is done in time", run: (life) => drain(life, reactions, drainMsMax) },
    final: [
      ...standard,
      { name: "each effect is there once", run: (life) => eachEffectOnce(life, reactions) },
      { name: "sagas have ended as they must", run: (life) => sagasHaveEnded(life, reactions) },
      { name: "errors are those that must be", run: (life) => errorsAgree(life, reactions) },
      {
        name: "listings agree",
        run: (life) => listingsAgree(life, Object.keys(REACTION_SPEC.aggregate_types)),
      },
      {
        name: "length and aggregate agree",
        run: (life) => readsOfStreamsAgree(life, [...life.streams.keys()]),
      },
      { name: "every stream is whole", run: everyStreamIsWhole },
    ],
  };
}

/**
 * Also records by when writes that were cut off can have landed: before the kill, or at the
 * latest by their retry.
 */
async function retryKeyed(life: Life, reactions: ReactionJournal): Promise<string[]> {
  const spans = life.written.map((operation) => ({
    span: reactions.spans.get(operation)!,
    isThere: hasLanded(operation, life.journal),
  }));
  const faults = await keyedRetriesHaveOneEffect(life);
  for (const { span, isThere } of spans) {
    if (span.heardMs < Infinity) continue;
    span.heardMs = isThere ? span.lostMs! + LANDING_MS_MAX : Date.now();
  }
  return faults;
}

async function nothingFromNothing(life: Life, reactions: ReactionJournal): Promise<string[]> {
  const now = Date.now();
  const recent = reactions.triggers.filter(({ operation }) =>
    now - reactions.spans.get(operation)!.sentMs < FOLLOWED_MS
  );
  const faults = await absorbStreams(life, keysOf(recent));
  const journals = { journal: life.journal, reactions };
  return [...faults, ...recent.flatMap((trigger) => orphanFaults(journals, trigger))];
}

function keysOf(triggers: readonly Trigger[]): Set<string> {
  return new Set(triggers.flatMap(possibleEffects).map(({ key }) => key));
}

async function drain(life: Life, reactions: ReactionJournal, msMax: number): Promise<string[]> {
  const untilMs = Date.now() + msMax;
  const landed = reactions.triggers.filter(({ operation }) => hasLanded(operation, life.journal));
  for (;;) {
    const isLate = Date.now() > untilMs;
    const pending = await pendingOf(life, landed);
    const missing = landed.filter(({ effects }) => effects.some(({ found }) => !found));
    if (pending.length + missing.length === 0) return [];
    const faults = await absorbStreams(life, keysOf(missing));
    if (faults.length > 0) return faults;
    if (isLate) {
      const journals = { journal: life.journal, reactions };
      const lost = missing.flatMap((trigger) => triggerFaults(journals, trigger));
      return [`not done after ${msMax} ms: ${pending}`, ...lost.slice(0, FAULTS_MAX)];
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Returns what the server lists as pending, and the sagas that have not been started yet. */
async function pendingOf(life: Life, landed: readonly Trigger[]): Promise<string[]> {
  const asked = ["/_scheduled", "/_sagas?state=running", "/_sagas?state=compensating"];
  const pages = await Promise.all(asked.map((path) => life.api.get(path)));
  const pending = asked.filter((_, index) => (pages[index]!.data as unknown[]).length > 0);
  if (pending.length > 0) return pending;
  // A saga's start may still be in the shard of a process that died.
  const started = new Set((await listSagas(life)).map(({ trigger }) => trigger.key));
  return landed.filter(({ job }) => job !== undefined).map(({ job }) => keyOfJob(job!))
    .filter((key) => !started.has(key)).map((key) => `the saga of ${key}`);
}

async function eachEffectOnce(life: Life, reactions: ReactionJournal): Promise<string[]> {
  const faults = await absorbStreams(life, keysOf(reactions.triggers));
  const journals = { journal: life.journal, reactions };
  faults.push(...reactions.triggers.flatMap((trigger) => triggerFaults(journals, trigger)));
  return faults.slice(0, FAULTS_MAX);
}

interface ListedSaga {
  readonly saga_id: string;
  readonly name: string;
  readonly state: string;
  readonly trigger: { readonly key: string; readonly stream_id: string };
  readonly history: readonly { readonly step: string; readonly outcome: string }[];
}

async function listSagas(life: Life): Promise<ListedSaga[]> {
  return await listAll(life, "/_sagas?limit=200") as ListedSaga[];
}

/** The stream of the job's first and last events. */
function keyOfJob({ parts }: NonNullable<Trigger["job"]>): string {
  return parts.get("finish")!.key;
}

/** Each started job must have one saga, in an end state, with the history of that ending. */
async function sagasHaveEnded(life: Life, reactions: ReactionJournal): Promise<string[]> {
  const listed = new Map<string, ListedSaga[]>();
  for (const saga of await listSagas(life)) {
    const { key } = saga.trigger;
    listed.set(key, [...listed.get(key) ?? [], saga]);
  }
  const jobs = reactions.triggers.filter(({ job, operation }) =>
    job !== undefined && hasLanded(operation, life.journal)
  );
  const faults = await concurrently(jobs, async (trigger) => {
    const key = keyOfJob(trigger.job!);
    const sagas = listed.get(key) ?? [];
    listed.delete(key);
    if (sagas.length !== 1) return [`${key}: ${sagas.length} sagas instead of one`];
    const { saga } = await life.api.get(`/_sagas/${sagas[0]!.saga_id}`);
    return sagaFaults(life, reactions, trigger, saga as ListedSaga);
  });
  for (const key of listed.keys()) faults.push(`${key}: a saga, but nothing started it`);
  return faults.slice(0, FAULTS_MAX);
}

function sagaFaults(
  { journal }: Life,
  reactions: ReactionJournal,
  trigger: Trigger,
  saga: ListedSaga,
): string[] {
  const job = trigger.job!;
  const endings = allowedEndings({ journal, reactions }, trigger, job);
  const told = [
    saga.name,
    saga.state,
    ...saga.history.map(({ step, outcome }) => `${step} ${outcome}`),
  ];
  const isExpected = endings.some((ending) => {
    const state = ending === "completed" ? "completed" : "compensated";
    return `${told}` === `${[job.saga, state, ...historyOfEnding(job, ending)]}`;
  });
  const ids = [...job.parts.values()].flatMap(({ found }) => found ?? [])
    .map(({ metadata }) => (metadata.saga as { saga_id?: string } | undefined)?.saga_id);
  return [
    ...isExpected ? [] : [`saga ${saga.saga_id} may have ${endings}: ${told}`],
    ...ids.filter((id) => id !== saga.saga_id).map((id) => `${saga.saga_id}: an event names ${id}`),
  ];
}

interface ListedError {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: { readonly event_key?: string };
}

async function errorsAgree(life: Life, reactions: ReactionJournal): Promise<string[]> {
  const journals = { journal: life.journal, reactions };
  const counts = new Map<string, number>();
  const count = (name: string, by: number) => counts.set(name, (counts.get(name) ?? 0) + by);
  for (const trigger of reactions.triggers) {
    for (const name of expectedErrors(journals, trigger)) count(name, 1);
  }
  for (const record of await listAll(life, "/_errors?limit=200") as ListedError[]) {
    count(errorName(record.error_type, record.context.event_key ?? record.message), -1);
  }
  return [...counts].filter(([, difference]) => difference !== 0)
    .map(([name, difference]) =>
      `${name}: ${Math.abs(difference)} ${difference > 0 ? "missing" : "too many"}`
    )
    .slice(0, FAULTS_MAX);
}

async function listAll({ api }: Life, path: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let start: string | undefined, more = true; more;) {
    const page = await api.get(start === undefined ? path : `${path}&start=${start}`);
    found.push(...page.data as unknown[]);
    start = page.next_start as string | undefined;
    more = page.truncated === true;
  }
  return found;
}
