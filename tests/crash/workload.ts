/**
 * What the clients of a crash run send. A workload makes one write from a seeded generator, and
 * a run mixes several by weight. A new workload is one more row of the mix.
 */

import type { EventData, SentEvent, SentTarget, Write } from "./journal.ts";
import type { Random } from "./random.ts";

/** What a workload may use: one client connection of one life of the server. */
export interface ClientContext {
  readonly random: Random;
  /** Ids of streams that all clients share, for both aggregate types. */
  readonly pool: readonly string[];
  /**
   * A stream that only this client writes to, and its length as far as the client can know it.
   */
  readonly own: { readonly id: string; length?: number };
  /** Makes an event with a token of its own. */
  readonly event: () => SentEvent;
  readonly idempotencyKey: () => string;
}

export interface Workload {
  readonly name: string;
  readonly weight: number;
  readonly write: (client: ClientContext) => Write;
}

/** The spec that the crash run deploys; `stream_model.ts` implements the same fold by hand. */
export const CRASH_SPEC = {
  agent_types: ["person"],
  aggregate_types: {
    account: { events: eventTypes() },
    ledger: { events: eventTypes() },
  },
};

function eventTypes() {
  const schema = {
    type: "object",
    properties: {
      token: { type: "string" },
      amount: { type: "integer" },
      note: { type: "string" },
    },
    required: ["token", "amount", "note"],
    additionalProperties: false,
  };
  const handler = (operation: "increment" | "decrement") => [
    { increment: { target: "count" } },
    { [operation]: { target: "sum", by: "$.data.amount" } },
    { set: { target: "last", value: "$.data.token" } },
  ];
  return {
    was_credited: { schema, handler: handler("increment"), allow_skip_occ: true },
    was_debited: { schema, handler: handler("decrement"), allow_skip_occ: true },
  };
}

/** Text that is easy to get wrong: quotes, escapes, two-, three- and four-byte characters. */
const NOTES = [
  "",
  'a "quoted" \\ note',
  "line\nbreak\ttab",
  "naïve",
  "日本",
  "🦉🦉",
  "x".repeat(900),
];

export function eventData(token: string, random: Random): EventData {
  return { token, amount: random.below(1_000), note: random.pick(NOTES) };
}

/** Everything a client may send: single, guarded, hot, batch, atomic; with or without a key. */
export const STANDARD_MIX: readonly Workload[] = [
  { name: "single", weight: 30, write: single },
  { name: "guarded", weight: 15, write: guarded },
  { name: "hot stream", weight: 25, write: hot },
  { name: "batch", weight: 15, write: batch },
  { name: "atomic", weight: 15, write: atomic },
];

export function pickWorkload(mix: readonly Workload[], random: Random): Workload {
  let left = random.next() * mix.reduce((sum, { weight }) => sum + weight, 0);
  return mix.find(({ weight }) => (left -= weight) < 0) ?? mix[0]!;
}

/** Usually a stream that others write to as well, sometimes a new one. */
function someStream({ random, pool }: ClientContext): { aggregateType: string; id: string } {
  const aggregateType = random.pick(["account", "ledger"]);
  return { aggregateType, id: random.chance(0.05) ? random.uuid() : random.pick(pool) };
}

function maybeKey(client: ClientContext): { idempotencyKey?: string } {
  return client.random.chance(0.5) ? { idempotencyKey: client.idempotencyKey() } : {};
}

function single(client: ClientContext): Write {
  const target = { ...someStream(client), events: [client.event()] };
  const skipOcc = client.random.chance(0.2) ? { skipOcc: true } : {};
  return { form: "single", targets: [target], ...maybeKey(client), ...skipOcc };
}

function guarded(client: ClientContext): Write {
  const { own } = client;
  const target: SentTarget = { aggregateType: "account", id: own.id, events: [client.event()] };
  const guard = own.length === undefined ? {} : { previousLength: own.length };
  return { form: "single", targets: [{ ...target, ...guard }], ...maybeKey(client) };
}

function hot(client: ClientContext): Write {
  const target = { aggregateType: "account", id: "global", events: [client.event()] };
  return { form: "single", targets: [target], ...maybeKey(client) };
}

function batch(client: ClientContext): Write {
  const { random } = client;
  const count = random.chance(0.05) ? 200 + random.below(600) : 2 + random.below(20);
  const events = Array.from({ length: count }, client.event);
  return { form: "batch", targets: [{ ...someStream(client), events }], ...maybeKey(client) };
}

function atomic(client: ClientContext): Write {
  const { random } = client;
  const streams = new Map<string, { aggregateType: string; id: string }>();
  const wanted = 2 + random.below(4);
  for (let attempt = 0; attempt < 20 && streams.size < wanted; attempt++) {
    const stream = someStream(client);
    streams.set(`${stream.aggregateType}:${stream.id}`, stream);
  }
  const targets = [...streams.values()].map((stream) => ({
    ...stream,
    events: Array.from({ length: 1 + random.below(3) }, client.event),
  }));
  return { form: "atomic", targets, ...maybeKey(client) };
}
