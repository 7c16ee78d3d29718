/**
 * What the clients of a reaction crash run send: seeded writes with everything that must
 * follow. Streams that many events meet in are few, so that they are contended.
 */

import type { EventData, SentEvent, Write } from "./journal.ts";
import type { Random } from "./random.ts";
import {
  type Author,
  type Effect,
  type Ending,
  errorName,
  type Job,
  type Reminder,
  type Trigger,
} from "./reaction_journal.ts";
import { AMOUNT_MAX, BUILD_PLANS, POLL_PLAN } from "./reaction_spec.ts";
import { eventData } from "./workload.ts";

/** A trigger before its write is in the journal. */
export type PlannedTrigger = Omit<Trigger, "operation">;

export interface Planned {
  readonly write: Write;
  readonly triggers: readonly PlannedTrigger[];
}

/** Ids of the streams that all clients share. */
export interface Pools {
  readonly orders: readonly string[];
  readonly stocks: readonly string[];
  readonly ledgers: readonly string[];
  readonly links: readonly string[];
  readonly reminders: readonly string[];
  readonly switches: readonly string[];
}

/** One client connection of one life of the server. */
export interface Maker {
  readonly random: Random;
  readonly pools: Pools;
  /** In no other event of the run. */
  readonly token: () => string;
}

/** An event that is to follow, as `data.more` of its trigger names it. */
interface Part {
  readonly id: string;
  readonly data: EventData;
}

/** What is collected while one trigger is made. */
interface Making extends Maker {
  readonly effects: Effect[];
  readonly errors: string[];
}

const DEPTH_MAX = 8;
const DELAY_MS_MIN = 1_000;
const DELAY_MS_SPREAD = 2_000;

export function makePools(random: Random): Pools {
  const ids = (count: number) => Array.from({ length: count }, () => random.uuid());
  return {
    orders: ["global", ...ids(3)],
    stocks: ["global", ...ids(5)],
    ledgers: ["global", ...ids(3)],
    links: ["global", ...ids(9)],
    reminders: ["global", ...ids(5)],
    switches: ids(3),
  };
}

/** One order, or several of one stream in one write. */
export function planOrders(maker: Maker): Planned {
  const { random, pools } = maker;
  const id = random.chance(0.6) ? random.uuid() : random.pick(pools.orders);
  const count = random.chance(0.2) ? 2 + random.below(4) : 1;
  const orders = Array.from({ length: count }, () => planOrder(maker, `order:${id}`));
  const events = orders.map(({ event }) => event);
  return {
    write: writeOf(maker, "order", id, events),
    triggers: orders.map(({ trigger }) => trigger),
  };
}

/** A job that no order implies. */
export function planJob(maker: Maker): Planned {
  const id = maker.random.uuid();
  const making = { ...maker, effects: [], errors: [] };
  const token = maker.token();
  const { job, more } = makeJob(making, token, id);
  const data = { ...eventData(token, maker.random), more };
  const trigger = { token, effects: [], errors: [], job };
  return {
    write: writeOf(maker, "job", id, [{ type: "was_started", data }]),
    triggers: [trigger],
  };
}

/** An event that implies nothing; it only cancels or answers. */
export function planPlain(
  maker: Maker,
  aggregateType: string,
  id: string,
  type: string,
): Write {
  return writeOf(maker, aggregateType, id, [{
    type,
    data: eventData(maker.token(), maker.random),
  }]);
}

function writeOf(maker: Maker, aggregateType: string, id: string, events: SentEvent[]): Write {
  const form = events.length > 1 ? "batch" : "single";
  const key = maker.random.chance(0.5) ? { idempotencyKey: maker.token() } : {};
  return { form, targets: [{ aggregateType, id, events }], ...key };
}

function planOrder(maker: Maker, key: string): { event: SentEvent; trigger: PlannedTrigger } {
  const { random, pools } = maker;
  const making: Making = { ...maker, effects: [], errors: [] };
  const token = maker.token();
  const more: Record<string, unknown> = {};
  const follow = (type: string, id: string, event: string) =>
    addPart(making, { cause: token, type, id, event });
  if (random.chance(0.6)) more.count = follow("stock", "global", "was_counted");
  if (random.chance(0.4)) {
    more.lines = Array.from(
      { length: random.below(5) },
      () => follow("stock", random.pick(pools.stocks), "was_reserved"),
    );
  }
  if (random.chance(0.4)) {
    more.debit = follow("ledger", random.pick(pools.ledgers), "was_booked");
    if (random.chance(0.7)) {
      more.credit = follow("ledger", random.pick(pools.ledgers), "was_booked");
    }
  }
  if (random.chance(0.05)) {
    const data = { ...eventData(maker.token(), random), amount: AMOUNT_MAX + 1 };
    more.unfit = { id: random.pick(pools.ledgers), data };
    making.errors.push(errorName("implication_failed", key));
  }
  if (random.chance(0.4)) more.next = makeChain(making, token, 1 + random.below(DEPTH_MAX + 1));
  const reminder = random.chance(0.4) ? makeReminder(making, token, key, more) : undefined;
  const job = random.chance(0.15) ? makeImpliedJob(making, token, more) : undefined;
  const { effects, errors } = making;
  return {
    event: { type: "was_placed", data: { ...eventData(token, random), more } },
    trigger: { token, effects, errors, reminder, job },
  };
}

interface EffectMade {
  readonly cause: string;
  readonly author: Author;
  readonly key: string;
  readonly type: string;
  readonly more?: EventData["more"];
}

/** An event of the service, fully known in advance. */
function makeEffect(
  making: Maker,
  { cause, author, key, type, more }: EffectMade,
): Effect {
  const data = { ...eventData(making.token(), making.random), ...(more && { more }) };
  return { token: data.token, key, type, data, cause, author };
}

interface PartAdded {
  readonly cause: string;
  readonly type: string;
  readonly id: string;
  readonly event: string;
}

function addPart(making: Making, { cause, type, id, event }: PartAdded): Part {
  const effect = makeEffect(making, {
    cause,
    author: "implication",
    key: `${type}:${id}`,
    type: event,
  });
  making.effects.push(effect);
  return { id, data: effect.data };
}

/** Links that imply each other. A link beyond the depth limit becomes an error record instead. */
function makeChain(making: Making, cause: string, length: number): Part {
  const { random, pools } = making;
  const tokens = Array.from({ length }, () => making.token());
  let next: Part | undefined;
  for (let depth = length; depth > 0; depth--) {
    const isTooDeep = depth > DEPTH_MAX;
    const id = random.chance(0.2) ? random.uuid() : random.pick(pools.links);
    const data = {
      ...eventData(tokens[depth - 1]!, random),
      ...(next === undefined ? {} : { more: { next } }),
    };
    const key = `link:${id}`;
    if (next !== undefined && depth === DEPTH_MAX) {
      making.errors.push(errorName("implication_depth_exceeded", key));
    }
    if (!isTooDeep) {
      const before = depth === 1 ? cause : tokens[depth - 2]!;
      const effect = { key, type: "was_linked", data, cause: before, author: "implication" };
      making.effects.push({ token: data.token, ...effect } as Effect);
    }
    next = { id, data };
  }
  return next!;
}

function makeReminder(
  making: Making,
  cause: string,
  order: string,
  more: Record<string, unknown>,
): Reminder {
  const { random, pools } = making;
  const delayMs = DELAY_MS_MIN + random.below(DELAY_MS_SPREAD);
  const cancelOn = [`${order} was_paid`];
  if (random.chance(0.3)) {
    const id = random.pick(pools.switches);
    more.switch = id;
    cancelOn.push(`switch:${id} was_thrown`);
  }
  const own: Making = { ...making, effects: [], errors: [] };
  const token = making.token();
  const chain = random.chance(0.5)
    ? { more: { next: makeChain(own, token, 1 + random.below(3)) } }
    : {};
  const id = random.pick(pools.reminders);
  const data = { ...eventData(token, random), ...chain };
  more.delay_ms = delayMs;
  more.remind = { id, data };
  const key = `reminder:${id}`;
  const effect: Effect = { token, key, type: "was_sent", data, cause, author: "scheduler" };
  return { effect, implied: own.effects, delayMs, cancelOn };
}

function makeImpliedJob(making: Making, cause: string, more: Record<string, unknown>): Job {
  const token = making.token();
  const id = making.random.uuid();
  const { job, more: ofJob } = makeJob(making, token, id);
  const data = { ...eventData(token, making.random), more: ofJob };
  const key = `job:${id}`;
  making.effects.push({ token, key, type: "was_started", data, cause, author: "implication" });
  more.job = { id, data };
  return job;
}

const UNDONE_BY: Readonly<Record<string, string>> = {
  was_taken: "was_returned",
  was_packed: "was_unpacked",
  was_wrapped: "was_unwrapped",
  was_asked: "was_withdrawn",
};

type NamedPart = readonly [type: string, id: string];

/** A saga with all events that it may write, however it ends. */
function makeJob(making: Making, started: string, id: string) {
  const { random, pools } = making;
  const plan = random.chance(0.5) ? POLL_PLAN : random.pick(BUILD_PLANS);
  const isWrapped = random.chance(0.5);
  const trackId = random.uuid();
  const parts = new Map<string, Effect>();
  const implied = new Map<string, readonly Effect[]>();
  const more: Record<string, unknown> = { plan };
  const add = (step: string, [type, partId]: NamedPart, event: string, extra: Extra = {}) => {
    const key = `${type}:${partId}`;
    const effect = makeEffect(making, {
      cause: started,
      author: "coordinator",
      key,
      type: event,
      more: extra.more,
    });
    const data = { ...effect.data, ...(extra.amount && { amount: extra.amount }) };
    parts.set(step, { ...effect, data, step });
    more[step] = { id: partId, data };
    const undo = UNDONE_BY[event];
    if (undo === undefined) return effect;
    const undone = makeEffect(making, { cause: started, author: "compensator", key, type: undo });
    parts.set(`${step}_undo`, { ...undone, step });
    more[`${step}_undo`] = { id: partId, data: undone.data };
    return effect;
  };
  add("take", ["stock", random.chance(0.5) ? "global" : random.pick(pools.stocks)], "was_taken");
  const counted = makeEffect(making, {
    cause: "",
    author: "implication",
    key: "stock:global",
    type: "was_counted",
  });
  const packed = add("pack", ["track", trackId], "was_packed", {
    more: { next: { id: "global", data: counted.data } },
  });
  implied.set(packed.token, [{ ...counted, cause: packed.token }]);
  if (isWrapped) add("wrap", ["track", trackId], "was_wrapped");
  const answer = makeAnswer(making, plan, trackId);
  const asked = add("ask", ["track", trackId], "was_asked", answer && { more: answer.more });
  if (answer !== undefined) {
    implied.set(asked.token, [{ ...answer.effect, cause: asked.token }]);
  }
  add("finish", ["job", id], "was_finished", plan === "unfit" ? { amount: AMOUNT_MAX + 1 } : {});
  add("close", ["track", trackId], "was_closed");
  const job: Job = {
    saga: plan === POLL_PLAN ? "poll" : "build",
    started,
    track: `track:${trackId}`,
    isWrapped,
    ending: ENDINGS[plan],
    parts,
    implied,
  };
  return { job, more };
}

interface Extra {
  readonly more?: EventData["more"];
  readonly amount?: number;
}

const ENDINGS: Readonly<Record<string, Ending>> = {
  answered: "completed",
  declined: "declined",
  bad: "bad",
  unfit: "unfit",
};

/** Implied by the question itself, unless a client must answer. */
function makeAnswer(making: Making, plan: string, trackId: string) {
  if (plan === POLL_PLAN) return undefined;
  const isDeclined = plan === "declined";
  const type = isDeclined ? "was_declined" : "was_answered";
  const effect = makeEffect(making, {
    cause: "",
    author: "implication",
    key: `track:${trackId}`,
    type,
  });
  const data = plan === "bad" ? { ...effect.data, amount: -1 } : effect.data;
  const more = { [isDeclined ? "decline" : "answer"]: { id: trackId, data } };
  return { effect: { ...effect, data }, more };
}
