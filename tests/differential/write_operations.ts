/** Writes of a trace that should land: single, batch and atomic, keyed, guarded, repeated. */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Random } from "../crash/random.ts";
import type { Operation, RequestOperation, Sent } from "./operation.ts";
import {
  type KeyedWrite,
  newId,
  pickPlace,
  pickStream,
  type Place,
  remember,
  request,
  sentTo,
  spell,
  type Stream,
  streamOf,
  type TraceModel,
} from "./trace_model.ts";
import { MIXED_TYPES, type MixedType } from "./trace_spec.ts";

interface TraceEvent {
  readonly type: string;
  readonly data: JsonObject;
}

const WORDS = [
  "pear",
  "quince",
  "Ünïcödé",
  "日本",
  "🌊",
  'a "quote"',
  "back\\slash",
  "\u0000\u001f",
];
const LEDGER_DAY_MS = 24 * 3_600 * 1000;

function textOf(random: Random): string {
  return Array.from({ length: 1 + random.below(12) }, () => random.pick(WORDS)).join(" ");
}

/** Keys that are special to JavaScript, but not to a client. */
function oddData(random: Random): JsonObject {
  const odd = random.pick(["__proto__", "constructor", "prototype", "", "a.b", "$.data"]);
  return Object.fromEntries([["text", textOf(random)], [odd, { polluted: true }]]);
}

const EVENTS: Record<MixedType, (random: Random, place: Place) => TraceEvent> = {
  order: (random) =>
    random.pick<() => TraceEvent>([
      () => ({
        type: "was_placed",
        data: {
          customer: textOf(random),
          on: "2026-02-28",
          lines: Array.from({ length: random.below(4) }, () => ({
            sku: `AB${random.below(100)}`,
            qty: random.below(1_000) - 500,
            note: textOf(random),
          })),
        },
      }),
      () => ({ type: "was_paid", data: { amount: (1 + random.below(99_999)) / 100 } }),
      () => ({ type: "was_paid", data: { amount: 19.99, extra: { deep: [null, true, 1e-7] } } }),
      () => ({ type: "was_cancelled", data: {} }),
    ])(),
  note: (random, place) =>
    random.pick<() => TraceEvent>([
      () => ({ type: "was_written", data: { text: textOf(random) } }),
      () => ({ type: "was_written", data: oddData(random) }),
      () => ({ type: "was_filed", data: { in: [1, -0.5, 123456789012345, null] } }),
      () => ({
        type: place.specVersion === 0
          ? "was_filed"
          : `was_tagged_${1 + random.below(Math.min(place.specVersion, 8))}`,
        data: { value: random.below(1_000) },
      }),
    ])(),
  tally: (random) =>
    random.pick<() => TraceEvent>([
      () => ({ type: "was_raised", data: { by: random.below(50) / 4 } }),
      () => ({ type: "was_raised", data: {} }),
      () => ({ type: "was_lowered", data: {} }),
    ])(),
  basket: (random) =>
    random.pick<() => TraceEvent>([
      () => ({
        type: "had_item_put",
        data: { item: { sku: `S${random.below(12)}`, dear: random.chance(0.3) } },
      }),
      () => ({ type: "had_item_dropped", data: { sku: `S${random.below(12)}` } }),
      () => ({ type: "was_priced", data: { price: random.below(200) } }),
    ])(),
};

function eventFor(model: TraceModel, place: Place, type: string): TraceEvent {
  return EVENTS[type as MixedType](model.random, place);
}

/** An actor, and occasionally a target or a time in the past. */
function metadataFor(model: TraceModel, place: Place): JsonObject {
  const { random } = model;
  const actor = random.pick<JsonObject>([
    { type: "user", id: "global" },
    { type: "user", id: newId(random) },
    { type: "robot", id: "main" },
    { type: "system_agent", id: "event_scheduler" },
  ]);
  const metadata: JsonObject = { actor };
  if (random.chance(0.2)) metadata.target = { type: "customer", id: newId(random) };
  if (place.environment !== "production" && random.chance(0.2)) {
    metadata.timestamp = Math.floor(model.nowMs / 1000) - random.below(100_000);
  }
  return metadata;
}

/** The stream's length, or occasionally a wrong one; undefined: not guarded. */
function guardFor({ random }: TraceModel, { length }: Stream): number | undefined {
  if (random.chance(0.6)) return undefined;
  return random.chance(0.85) ? length : length + random.pick([1, 2, 40]);
}

interface WriteCall {
  readonly path: string;
  readonly json: JsonObject;
  readonly lands: boolean;
}

/** A write, occasionally keyed; `lands` says whether the author expects it to land. */
function write(
  model: TraceModel,
  name: string,
  place: Place,
  { path, json, lands }: WriteCall,
): RequestOperation {
  const isKeyed = model.random.chance(0.3);
  const key = `key ${model.writes++}~`;
  const headers = isKeyed ? { "x-idempotency-key": key } : undefined;
  const sent = sentTo(model, place, { method: "POST", path, json, headers });
  const operation = request(model, name, sent);
  if (isKeyed && lands) remember(model, { place, sent, json, key, atMs: model.nowMs });
  return operation;
}

export function writeSingle(model: TraceModel): Operation {
  const place = pickPlace(model);
  const stream = pickStream(model, place);
  const { type, data } = eventFor(model, place, stream.type);
  const guard = guardFor(model, stream);
  const metadata = metadataFor(model, place);
  if (guard !== undefined) metadata.previous_length = guard;
  else if (["was_written", "was_raised"].includes(type) && model.random.chance(0.3)) {
    metadata.skip_occ = true;
  }
  const lands = guard === undefined || guard === stream.length;
  if (lands) stream.length++;
  const path = `/${stream.type}/${spell(model.random, stream.id)}/${type}`;
  const name = guard === undefined ? "single_write" : "single_write_guarded";
  return write(model, name, place, { path, json: { data, metadata }, lands });
}

/** Usually a few events, one time in ten some hundred. */
export function writeBatch(model: TraceModel): Operation {
  const { random } = model;
  const place = pickPlace(model);
  const stream = pickStream(model, place);
  const isLong = random.chance(0.1);
  const count = isLong ? 50 + random.below(250) : 1 + random.below(12);
  const events = Array.from({ length: count }, () => eventJson(model, place, stream.type));
  const guard = guardFor(model, stream);
  const metadata = metadataFor(model, place);
  if (guard !== undefined) metadata.previous_length = guard;
  const lands = guard === undefined || guard === stream.length;
  if (lands) stream.length += count;
  const path = `/${stream.type}/${spell(random, stream.id)}`;
  const name = isLong ? "batch_write_of_hundreds" : "batch_write";
  return write(model, name, place, { path, json: { events, metadata }, lands });
}

function eventJson(model: TraceModel, place: Place, streamType: string): JsonObject {
  const { type, data } = eventFor(model, place, streamType);
  // In a batch, empty data may be left out.
  return Object.keys(data).length === 0 ? { type } : { type, data };
}

export function writeAtomic(model: TraceModel): Operation {
  const { random } = model;
  const place = pickPlace(model);
  const streams = new Set<Stream>();
  const count = 1 + random.below(10);
  while (streams.size < count) streams.add(pickStream(model, place));
  const targets: JsonObject[] = [];
  let lands = true;
  for (const stream of streams) {
    const events = Array.from(
      { length: 1 + random.below(4) },
      () => eventJson(model, place, stream.type),
    );
    const target: JsonObject = { aggregate_type: stream.type, id: stream.id, events };
    if (random.chance(0.4)) target.previous_length = stream.length;
    if (random.chance(0.02)) target.previous_length = stream.length + 1;
    lands &&= target.previous_length === undefined || target.previous_length === stream.length;
    targets.push(target);
  }
  if (lands) {
    for (const [at, stream] of [...streams].entries()) {
      stream.length += (targets[at]!.events as JsonValue[]).length;
    }
  }
  const json = { targets, metadata: metadataFor(model, place) };
  return write(model, "atomic_write", place, { path: "/_atomic-write", json, lands });
}

/** Repeats a keyed write: as it was, with its keys reordered, elsewhere, or changed. */
export function repeatWrite(model: TraceModel): Operation {
  const { random, keyed, nowMs } = model;
  if (keyed.length === 0) return writeSingle(model);
  const known = random.pick(keyed);
  if (nowMs - known.atMs > LEDGER_DAY_MS + 2_000) return reuseForgottenKey(model, known);
  const [name, sent] = model.turn(REPEATS)(known);
  // A replay restarts the entry's day.
  if (name !== "repeat_changed") known.atMs = nowMs;
  return request(model, name, sent, { advanceMs: 0 });
}

type Repeat = readonly [name: string, sent: Sent];

function exactly({ sent }: KeyedWrite): Repeat {
  return ["repeat", sent];
}

function reordered({ sent, json }: KeyedWrite): Repeat {
  return ["repeat_reordered", {
    ...sent,
    json: Object.fromEntries(Object.entries(json).reverse()),
  }];
}

/** The hash covers only the body. */
function elsewhere({ sent }: KeyedWrite): Repeat {
  return ["repeat_elsewhere", { ...sent, path: "/note/global/was_filed" }];
}

function changed({ sent, json }: KeyedWrite): Repeat {
  const metadata = json.metadata as JsonObject;
  // No write of a trace has this actor originally; otherwise it would not be changed.
  const actor = { type: "robot", id: "inventory" };
  return ["repeat_changed", { ...sent, json: { ...json, metadata: { ...metadata, actor } } }];
}

const REPEATS = [exactly, reordered, elsewhere, changed] as const;

/** A day after its last use a key may stand for another write. */
function reuseForgottenKey(model: TraceModel, known: KeyedWrite): Operation {
  const { place, key } = known;
  model.keyed.splice(model.keyed.indexOf(known), 1);
  streamOf(place, "note", "global").length++;
  const json = { data: { again: key }, metadata: { actor: { type: "user", id: "global" } } };
  const sent = sentTo(model, place, {
    method: "POST",
    path: "/note/global/was_filed",
    headers: { "x-idempotency-key": key },
    json,
  });
  remember(model, { place, sent, json, key, atMs: model.nowMs });
  return request(model, "reuse_of_forgotten_key", sent, { advanceMs: 0 });
}

const MEANWHILE = ["write_twice_at_once", "read_during_write"] as const;

/** Sends the same key again, or a read, while the first write is under way. */
export function writeTwiceAtOnce(model: TraceModel): Operation {
  const place = pickPlace(model);
  const stream = pickStream(model, place, { type: "note" });
  stream.length++;
  const key = `key ${model.writes++}~`;
  const json = { data: { text: "once" }, metadata: { actor: { type: "user", id: "global" } } };
  const path = `/note/${encodeURIComponent(stream.id)}/was_written`;
  const headers = { "x-idempotency-key": key };
  const sent = sentTo(model, place, { method: "POST", path, json, headers });
  const reading = sentTo(model, place, {
    method: "GET",
    path: path.replace("was_written", "length"),
  });
  remember(model, { place, sent, json, key, atMs: model.nowMs });
  const name = model.turn(MEANWHILE);
  const meanwhile = name === "write_twice_at_once" ? sent : reading;
  return request(model, name, sent, { meanwhile });
}

/** The store fails during a write; its error record can be read afterwards. */
export function writeIntoFault(model: TraceModel): Operation[] {
  const place = pickPlace(model);
  const stream = pickStream(model, place, { type: "tally" });
  const json = { data: {}, metadata: { actor: { type: "user", id: "global" } } };
  const path = `/tally/${encodeURIComponent(stream.id)}/was_raised`;
  const sent = sentTo(model, place, { method: "POST", path, json });
  const fault = model.turn(FAULTS);
  const name = `error_${model.errors++}`;
  const failing = request(model, `write_${fault}`, sent, { fault, save: { [name]: "error_id" } });
  const reading = sentTo(model, place, { method: "GET", path: `/_errors/{{${name}}}` });
  return [failing, request(model, "read_error", reading)];
}

const FAULTS = ["unavailable", "broken"] as const;

/** Thousands of events in one request. */
export function writeThousands(model: TraceModel): Operation {
  const place = pickPlace(model);
  const stream = pickStream(model, place, { type: "tally" });
  const count = 2_000 + model.random.below(3_000);
  const item = { type: "was_raised", data: { by: 0.25, number: "$index" } };
  const json: JsonObject = {
    events: { $times: count, $item: item },
    metadata: { ...metadataFor(model, place), previous_length: stream.length },
  };
  stream.length += count;
  const path = `/tally/${encodeURIComponent(stream.id)}`;
  const sent = sentTo(model, place, { method: "POST", path, json });
  return request(model, "batch_write_of_thousands", sent);
}

/** Events near the size limit of one event, so that stored values are split. */
export function writeLarge(model: TraceModel): Operation {
  const { random } = model;
  const place = pickPlace(model);
  const stream = streamOf(place, "archive", `KEPT0000${random.below(10)}`);
  const count = 1 + random.below(3);
  const events = Array.from({ length: count }, () => ({
    type: "was_kept",
    data: { text: { $text: 30_000 + random.below(70_000) } },
  }));
  stream.length += count;
  const json: JsonObject = { events, metadata: metadataFor(model, place) };
  const path = `/archive/${encodeURIComponent(stream.id)}`;
  return request(model, "large_write", sentTo(model, place, { method: "POST", path, json }));
}

/** Every type has a stream from the start, so that reads find something. */
export function firstWrites(model: TraceModel): Operation[] {
  return model.places.flatMap((place) =>
    MIXED_TYPES.map((type) => {
      const stream = streamOf(place, type, "global");
      const event = eventFor(model, place, type);
      stream.length++;
      const json = { data: event.data, metadata: metadataFor(model, place) };
      const path = `/${type}/global/${event.type}`;
      return request(model, "single_write", sentTo(model, place, { method: "POST", path, json }));
    })
  );
}
