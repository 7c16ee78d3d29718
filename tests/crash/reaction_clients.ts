/**
 * The load of a reaction crash run: clients that write triggers until the server dies. They
 * also pay, cancel and answer what triggers set in motion, their own or those of others and of
 * earlier lives.
 */

import { type Load, sendWrite } from "./clients.ts";
import type { Operation, Write } from "./journal.ts";
import type { Random } from "./random.ts";
import type { Job, ReactionJournal, Span } from "./reaction_journal.ts";
import { removeScheduled, type Scheduled } from "./remove_scheduled.ts";
import {
  makePools,
  type Maker,
  planJob,
  type Planned,
  planOrders,
  planPlain,
  type Pools,
} from "./reaction_workload.ts";

/** What the clients know of each other's work; it lives through the whole run. */
export interface Reacting {
  readonly reactions: ReactionJournal;
  /** Made from the seed with the first load. */
  pools?: Pools;
  /** Orders that have a reminder, newest last. */
  readonly payable: string[];
  /** Jobs that wait for a client, newest last. */
  readonly askable: { readonly job: Job; readonly sinceMs: number }[];
}

interface Client extends Maker {
  readonly load: Load;
  readonly state: Reacting;
}

const REMEMBERED_MAX = 100;
/** Few jobs are answered earlier than this. */
const EARLY_MS = 1_000;
/** A track has at least this many events up to the question. */
const TRACK_ASKED_LENGTH = 2;

export function reactionClients(state: Reacting): (load: Load) => Promise<string[]> {
  return async (load) => {
    state.pools ??= makePools(load.random.fork(-1));
    const faults = await Promise.all(
      load.own.map((_, index) => runClient(state, load, load.random.fork(index))),
    );
    return faults.flat();
  };
}

async function runClient(state: Reacting, load: Load, random: Random): Promise<string[]> {
  const name = random.uuid();
  let count = 0;
  const client: Client = {
    load,
    state,
    random,
    pools: state.pools!,
    token: () => `${name}.${count++}`,
  };
  while (!load.dying()) {
    const faults = await act(client);
    if (faults.length > 0) return faults;
  }
  return [];
}

function act(client: Client): Promise<string[]> {
  const dice = client.random.next();
  if (dice < 0.5) return trigger(client, planOrders(client));
  if (dice < 0.65) return trigger(client, planJob(client));
  if (dice < 0.75) return pay(client);
  if (dice < 0.8) return throwSwitch(client);
  if (dice < 0.85) return removeReminder(client);
  return answer(client);
}

async function trigger(client: Client, { write, triggers }: Planned): Promise<string[]> {
  const { load, state } = client;
  const operation = load.journal.record(write);
  for (const planned of triggers) {
    state.reactions.addTrigger({ ...planned, operation });
    const { aggregateType, id } = write.targets[0]!;
    if (planned.reminder !== undefined && aggregateType === "order") {
      remember(state.payable, id);
    }
    if (planned.job?.saga === "poll") {
      remember(state.askable, { job: planned.job, sinceMs: Date.now() });
    }
  }
  return await send(client, operation);
}

async function pay(client: Client): Promise<string[]> {
  const { random, state: { payable } } = client;
  if (payable.length === 0) return [];
  const id = random.pick(payable.slice(-20));
  return await sendCancel(client, planPlain(client, "order", id, "was_paid"));
}

async function throwSwitch(client: Client): Promise<string[]> {
  const id = client.random.pick(client.pools.switches);
  return await sendCancel(client, planPlain(client, "switch", id, "was_thrown"));
}

async function sendCancel(client: Client, write: Write): Promise<string[]> {
  const { load, state } = client;
  const operation = load.journal.record(write);
  const { aggregateType, id, events } = write.targets[0]!;
  state.reactions.addCancel(`${aggregateType}:${id} ${events[0]!.type}`, operation);
  return await send(client, operation);
}

/** Lists the scheduled events and cancels one of them. */
async function removeReminder({ load, random, state }: Client): Promise<string[]> {
  const listed = await alive(load, load.api.get("/_scheduled?limit=20"));
  const page = listed.answer?.data as Scheduled[] | undefined;
  if (page === undefined || page.length === 0) return listed.faults;
  const removing = removeScheduled(load.api, state.reactions, random.pick(page));
  const removed = await alive(load, removing);
  return removed.answer ?? removed.faults;
}

/** Answers a job whose question is visible. */
async function answer(client: Client): Promise<string[]> {
  const { load, random, state } = client;
  const waiting = state.askable.slice(-20);
  if (waiting.length === 0) return [];
  const asked = random.pick(waiting);
  const { job, sinceMs } = asked;
  // An answer cut off just before the timeout is the one that might be overlooked.
  if (Date.now() - sinceMs < EARLY_MS && random.chance(0.8)) return [];
  const length = await alive(load, load.api.length(job.track));
  if (length.answer === undefined) return length.faults;
  const lengthAsked = TRACK_ASKED_LENGTH + (job.isWrapped ? 1 : 0);
  if (length.answer < lengthAsked || !forget(state.askable, asked)) return [];
  const isDeclined = random.chance(0.3);
  const type = isDeclined ? "was_declined" : "was_answered";
  const write = planPlain(client, "track", job.track.slice("track:".length), type);
  const operation = load.journal.record(write);
  const ending = isDeclined ? "declined" : "completed";
  state.reactions.answers.set(job.track, [{ operation, ending }]);
  return await send(client, operation);
}

async function send({ load, random, state }: Client, operation: Operation): Promise<string[]> {
  const span: Span = { sentMs: Date.now(), heardMs: Infinity };
  state.reactions.spans.set(operation, span);
  const faults = await sendWrite(load, random, operation);
  if (operation.outcome === "unknown") span.lostMs = Date.now();
  else span.heardMs = Date.now();
  return faults;
}

/** Returns the answer, or none if the server dies first. */
async function alive<T>(
  load: Load,
  calling: Promise<T>,
): Promise<{ answer?: T; faults: string[] }> {
  try {
    return { answer: await calling, faults: [] };
  } catch (error) {
    return { faults: load.dying() ? [] : [`no answer: ${error}`] };
  }
}

function remember<T>(list: T[], item: T): void {
  list.push(item);
  if (list.length > REMEMBERED_MAX) list.shift();
}

function forget<T>(list: T[], item: T): boolean {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
  return at >= 0;
}
