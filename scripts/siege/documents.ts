/** Short ways to write the documents and requests of attacks. */

import { collidingLiterals } from "../../tests/support/colliding_names.ts";
import type { HostileRequest, Json, Step } from "./attack.ts";

export const ACTOR = { type: "user", id: "global" } as const;

/** A spec with these aggregate types: name to event types. */
export function specOf(
  types: Readonly<Record<string, Readonly<Record<string, Json>>>>,
  rest: Readonly<Record<string, Json>> = {},
): Json {
  const aggregate_types = Object.fromEntries(
    Object.entries(types).map(([name, events]) => [name, { events }]),
  );
  return { agent_types: ["user"], aggregate_types, ...rest };
}

/** An event type that accepts everything. */
export function eventType(handler: Json = [], rest: Readonly<Record<string, Json>> = {}): Json {
  return { schema: true, handler, ...rest };
}

/** An event type with a schema, whose events change nothing. */
export function judgedBy(schema: Json): Json {
  return { schema, handler: [] };
}

/** A humane code for each number. */
export function idOf(number: number): string {
  return `A${
    number.toString(32).toUpperCase().padStart(8, "0").replace(/[ILOU]/g, (letter) =>
      ({ I: "W", L: "X", O: "Y", U: "Z" })[letter]!)
  }`;
}

export function write(type: string, id: string, event: string, data: Json): HostileRequest {
  return {
    path: `/${type}/${id}/${event}`,
    body: JSON.stringify({ data, metadata: { actor: ACTOR } }),
  };
}

export function writeMany(
  type: string,
  id: string,
  events: readonly { readonly type: string; readonly data?: Json }[],
): HostileRequest {
  return { path: `/${type}/${id}`, body: JSON.stringify({ events, metadata: { actor: ACTOR } }) };
}

/** The same event `count` times in one request; quicker to make than from a list. */
export function writeRepeated(
  type: string,
  id: string,
  count: number,
  event: { readonly type: string; readonly data?: Json },
): HostileRequest {
  const one = JSON.stringify(event);
  const events = `${`${one},`.repeat(count - 1)}${one}`;
  const body = `{"events":[${events}],"metadata":${JSON.stringify({ actor: ACTOR })}}`;
  return { path: `/${type}/${id}`, body };
}

/** The same event `count` times. */
export function times(
  count: number,
  type: string,
  data: Json = {},
): { type: string; data: Json }[] {
  return Array.from({ length: count }, () => ({ type, data }));
}

export function read(path: string): HostileRequest {
  return { path, as: "read" };
}

export function query(sql: string, params: Json = []): HostileRequest {
  return { path: "/_projections/query", body: JSON.stringify({ sql, params }), as: "read" };
}

export function deploySpec(spec: Json, more: Readonly<Record<string, Json>> = {}): HostileRequest {
  return {
    path: "/api/instances/{instance}/spec?environment=test",
    body: JSON.stringify({ spec, ...more }),
    as: "operator",
  };
}

const PROJECTIONS = "/api/instances/{instance}/projections";

export function deployProjection(projection: Json): HostileRequest {
  return {
    path: `${PROJECTIONS}?environment=test`,
    body: JSON.stringify({ projection }),
    as: "operator",
  };
}

export function deleteProjection(name: string): HostileRequest {
  return { method: "DELETE", path: `${PROJECTIONS}/${name}?environment=test`, as: "operator" };
}

/** Waits until a projection can be read. */
export function untilReady(): Step {
  const waitFor: HostileRequest = { path: `${PROJECTIONS}?environment=test`, as: "operator" };
  return { waitFor, holds: '"state":"ready"' };
}

/** Many events of many streams in one import: `[type, id, event, data]` each. */
export function importEvents(
  events: Iterable<readonly [type: string, id: string, event: string, data: Json]>,
): HostileRequest {
  const lines: string[] = [];
  for (const [type, id, event, data] of events) {
    const metadata = { actor: ACTOR, timestamp: 1_000_000_000 };
    lines.push(JSON.stringify({ key: `${type}:${id}`, type: event, data, metadata }));
  }
  return importLines(`${lines.join("\n")}\n`);
}

export function importLines(body: string): HostileRequest {
  return {
    path: "/_admin/import_jsonl?environment=test&instance_id={instance}",
    body,
    contentType: "application/x-ndjson",
    as: "operator",
  };
}

export function repeat<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** An object with `count` fields. */
export function fields(count: number, make: (index: number) => Json): Json {
  return Object.fromEntries(repeat(count, (index) => [`f${index}`, make(index)]));
}

/** A value in `depth` layers, each made from the one inside it. */
export function nest(depth: number, wrap: (inner: Json, depth: number) => Json, core: Json): Json {
  let value = core;
  for (let level = 0; level < depth; level++) value = wrap(value, level);
  return value;
}

/** By the number of buckets: finding them takes a second. */
const inOneBucket = new Map<number, number[]>();

/** Texts with one hash in the engine's table of names, as fields `k0`, `k1` and so on. */
export function collidingTexts(count: number, from: number): Readonly<Record<string, string>> {
  const texts = collidingLiterals(count, from).map((literal, i) => [`k${i}`, JSON.parse(literal)]);
  return Object.fromEntries(texts);
}

/** Handlers that make each of these fields a key of the map. */
export function setEach(count: number): Json {
  return repeat(count, (i) => ({ set_at: { target: "map", key: `$.data.k${i}`, value: 1 } }));
}

/**
 * Integers from 7 on that fall into one bucket of a `Set` with `buckets` buckets, a power of two.
 * The engine hashes integers by a function that everybody knows.
 */
export function numbersInOneBucket(count: number, buckets: number): number[] {
  const found = inOneBucket.get(buckets) ?? [7];
  inOneBucket.set(buckets, found);
  const bucket = hashOfInteger(7) & (buckets - 1);
  for (let number = found.at(-1)! + 1; found.length < count; number++) {
    if ((hashOfInteger(number) & (buckets - 1)) === bucket) found.push(number);
  }
  return found.slice(0, count);
}

function hashOfInteger(number: number): number {
  let hash = ~number + (number << 15);
  hash ^= hash >>> 12;
  hash += hash << 2;
  hash ^= hash >>> 4;
  hash = Math.imul(hash, 2_057);
  return (hash ^ (hash >>> 16)) >>> 0;
}
