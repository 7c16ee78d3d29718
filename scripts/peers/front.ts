/**
 * The thin front before every peer: the same runtime, router, JSON and schema check as ours.
 *
 * It has nothing else: no keys, no idempotency ledger and no limits, which favours the peers.
 * The arguments are the port, the store, and the connection as JSON.
 */

import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { Hono } from "hono";
import { BENCH_SPEC } from "../bench/requests.ts";
import { openPeerStore, type PeerEvent, type StoreName } from "./peer_store.ts";

interface Sent {
  readonly type: string;
  readonly data: unknown;
}

interface Target {
  readonly aggregate_type: string;
  readonly id: string;
  readonly events: readonly Sent[];
}

const [port, name, connection] = Deno.args;
const store = await openPeerStore(name as StoreName, JSON.parse(connection!));
const ajv = new Ajv2020({ allErrors: false });
// deno-lint-ignore no-explicit-any -- the package's types do not know how it is imported here
(addFormats as any)(ajv);
const isValid = ajv.compile(BENCH_SPEC.aggregate_types.account.events.was_credited.schema);

const REFUSED = { ok: false, error: "Event data failed schema validation" };

/** The events with their metadata, or undefined if one does not fit the schema. */
function checked(events: readonly Sent[], metadata: unknown): PeerEvent[] | undefined {
  if (!events.every(({ data }) => isValid(data))) return undefined;
  return events.map(({ type, data }) => ({ type, data, metadata }));
}

function streamOf(type: string, id: string): string {
  return `${type}-${id}`;
}

/** The state to which the bench's handlers in Daybook fold, as far as `data` decides it. */
function fold(events: readonly unknown[]) {
  let balance = 0;
  for (const data of events) balance += (data as { amount: number }).amount;
  return { balance, bookings: events.length };
}

const app = new Hono();

app.post("/:type/:id/:event", async (context) => {
  const { type, id, event } = context.req.param();
  const { data, metadata } = await context.req.json();
  const events = checked([{ type: event, data }], metadata);
  if (events === undefined) return context.json(REFUSED, 422);
  const first = await store.append(streamOf(type, id), events);
  return context.json({ ok: true, stream_id: String(first) }, 201);
});

app.post("/_atomic-write", async (context) => {
  const { targets, metadata } = await context.req.json();
  if (store.appendToMany === undefined) return context.json({ ok: false }, 501);
  const writes = [];
  for (const { aggregate_type, id, events: sent } of targets as readonly Target[]) {
    const events = checked(sent, metadata);
    if (events === undefined) return context.json(REFUSED, 422);
    writes.push({ stream: streamOf(aggregate_type, id), events });
  }
  await store.appendToMany(writes);
  return context.json({ ok: true, written: writes.length }, 201);
});

app.post("/:type/:id", async (context) => {
  const { type, id } = context.req.param();
  const { events: sent, metadata } = await context.req.json();
  const events = checked(sent, metadata);
  if (events === undefined) return context.json(REFUSED, 422);
  const first = await store.append(streamOf(type, id), events);
  return context.json({ ok: true, first, count: events.length }, 201);
});

app.get("/:type/:id", async (context) => {
  if (store.read === undefined) return context.json({ ok: false }, 501);
  const { type, id } = context.req.param();
  const events = await store.read(streamOf(type, id));
  return context.json({ ok: true, data: fold(events), metadata: { length: events.length } });
});

app.get("/:type", async (context) => {
  if (store.list === undefined) return context.json({ ok: false }, 501);
  const prefix = `${context.req.param("type")}-`;
  const start = context.req.query("start");
  const limit = Number(context.req.query("limit") ?? 50);
  const names = await store.list(prefix, start === undefined ? "" : prefix + start, limit);
  return context.json({ ok: true, data: names.map((each) => each.slice(prefix.length)) });
});

Deno.serve({ hostname: "127.0.0.1", port: Number(port), onListen() {} }, app.fetch);
