/** Reads of a trace: states, lengths, pages of events and of ids, and faulty reads. */

import type { Operation, Sent } from "./operation.ts";
import {
  pickPlace,
  pickStream,
  type Place,
  request,
  sentTo,
  spell,
  START_MS,
  type TraceModel,
} from "./trace_model.ts";
import { MIXED_TYPES } from "./trace_spec.ts";

interface ReadPath {
  readonly path: string;
  readonly save?: Readonly<Record<string, string>>;
}

function reading(
  model: TraceModel,
  name: string,
  place: Place,
  { path, save }: ReadPath,
): Operation {
  return request(model, name, sentTo(model, place, { method: "GET", path }), { save });
}

function streamPath(model: TraceModel, place: Place): string {
  const { type, id } = pickStream(model, place, { newOnes: 0.1 });
  return `/${type}/${spell(model.random, id)}`;
}

export function readState(model: TraceModel): Operation {
  const place = pickPlace(model);
  const path = streamPath(model, place);
  const draw = model.random.next();
  if (draw < 0.5) return reading(model, "read_state", place, { path });
  if (draw < 0.75) {
    const flag = model.random.pick(["", "=true", "=1", "=false"]);
    return reading(model, "read_state_synchronous", place, { path: `${path}?synchronous${flag}` });
  }
  if (draw < 0.8) {
    const length = model.random.below(8);
    return reading(model, "read_state_at", place, { path: `${path}?at_length=${length}` });
  }
  const from = Math.floor(START_MS / 1000) - 50_000;
  const at = from + model.random.below(Math.floor(model.nowMs / 1000) - from);
  return reading(model, "read_state_at", place, { path: `${path}?at=${at}` });
}

export function readLength(model: TraceModel): Operation {
  const place = pickPlace(model);
  return reading(model, "read_length", place, { path: `${streamPath(model, place)}/length` });
}

/** One page, and usually the next one from its cursor. */
export function readEvents(model: TraceModel): Operation[] {
  const { random } = model;
  const place = pickPlace(model);
  const path = `${streamPath(model, place)}/events`;
  const direction = random.pick(["forwards", "backwards"]);
  const count = random.pick(["", `&count=${1 + random.below(5)}`, "&count=50", "&count=6000"]);
  const raw = random.pick(["", "&raw=true", "&raw"]);
  const query = `?direction=${direction}${count}${raw}`;
  const name = `read_events_${direction}`;
  const first = reading(model, name, place, {
    path: `${path}${query}`,
    save: { events_start: "next_start" },
  });
  if (random.chance(0.4)) return [first];
  // If there was no further page, this is the cursor of an earlier page.
  const next = reading(model, "read_events_on", place, {
    path: `${path}${query}&start={{events_start}}`,
  });
  return [first, next];
}

export function listIds(model: TraceModel): Operation[] {
  const { random } = model;
  const place = pickPlace(model);
  const path = `/${random.pick(MIXED_TYPES)}`;
  const limit = random.pick(["", "limit=3", "limit=17", "limit=500"]);
  const resolve = random.pick(["", "", "&resolve", "&resolve=true&synchronous=true"]);
  const name = resolve === "" ? "list_ids" : "list_resolved";
  const query = `${path}?${limit}${resolve}`;
  const first = reading(model, name, place, { path: query, save: { list_start: "next_start" } });
  if (random.chance(0.5)) return [first];
  const cursor = random.pick(["start", "cursor"]);
  return [first, reading(model, "list_on", place, { path: `${query}&${cursor}={{list_start}}` })];
}

/** Reads that are wrong or only unusual; in turn. */
const ODD_READS: readonly string[] = [
  "/nothing/main",
  "/nothing",
  "/note/short",
  "/note/5b3e1a7c-9d24-1f6a-8b1e-000000000001",
  "/note/5b3e1a7c-9d24-4f6a-8b1e-00000000ffff",
  "/note/5b3e1a7c-9d24-4f6a-8b1e-00000000ffff/length",
  "/note/5b3e1a7c-9d24-4f6a-8b1e-00000000ffff/events",
  "/basket/inventory",
  "/note/main?synchronous=perhaps",
  "/note/main?at=-1",
  "/note/main?at=yesterday",
  "/note/main?at=0",
  "/note/main?at_length=0",
  "/note/main?at_length=-1",
  "/note/main?at_length=1&at=5",
  "/note/short/length",
  "/nothing/main/length",
  "/note/short/events",
  "/note/main/events?count=0",
  "/note/main/events?count=-3",
  "/note/main/events?count=many",
  "/note/main/events?direction=sideways",
  "/note/main/events?raw=perhaps",
  "/note/main/events?start=soon",
  "/note/main/events?start=999999999999",
  "/note/main/events?start=999999999999&direction=backwards&count=2",
  "/note/main/events?start=000000000000&direction=backwards",
  "/note?prefix=m",
  "/note?prefix=a/b",
  "/note?limit=0",
  "/note?limit=x",
  "/note?resolve=maybe",
  "/note?start=zzzz",
  `/note?start=${"z".repeat(300)}`,
  "/note?start=%00",
  "/_errors/err_nothing",
  "/_errors/nothing",
];

/** Requests that match no route or method, and requests that need no key. */
const ODD_REQUESTS: readonly (Pick<Sent, "method" | "path"> & Partial<Sent>)[] = [
  { method: "GET", path: "/_nothing/here" },
  { method: "GET", path: "/a/b/c/d" },
  { method: "GET", path: "/note/main/" },
  { method: "GET", path: "/note/%E0%A4%A" },
  { method: "POST", path: "/note/main/length", json: {} },
  { method: "DELETE", path: "/note/main" },
  { method: "PUT", path: "/note" },
  { method: "GET", path: "/note/main/was_written" },
  { method: "GET", path: "/_atomic-write" },
  { method: "HEAD", path: "/note/main" },
  { method: "HEAD", path: "/note/main/events?count=2" },
  { method: "HEAD", path: "/nothing" },
  { method: "OPTIONS", path: "/note/main" },
  { method: "GET", path: "/health/live", as: "none" },
  { method: "GET", path: "/health/ready", as: "none" },
  { method: "GET", path: "/health/other", as: "none" },
  { method: "GET", path: "/note/main/length", as: "none" },
  { method: "GET", path: "/note/main/length", as: "operator" },
  { method: "GET", path: "/note/main/length", headers: { "x-request-id": null } },
  { method: "GET", path: "/note/main/length", headers: { "x-request-id": "no id!" } },
  { method: "GET", path: "/note/main/length", headers: { host: "no host!" } },
  { method: "GET", path: "/note/main/length", host: "a-shop-that-is-not" },
  { method: "GET", path: "/note/main/length", host: "api" },
  {
    method: "GET",
    path: "/note/main/length",
    as: { header: "Bearer {{bakery_test_read}}" },
    host: "shop-test",
  },
];

export function readOddly(model: TraceModel): Operation {
  return reading(model, "odd_read", pickPlace(model), { path: model.turn(ODD_READS) });
}

export function requestOddly(model: TraceModel): Operation {
  const sent = sentTo(model, pickPlace(model), model.turn(ODD_REQUESTS));
  return request(model, "odd_request", sent);
}
