/**
 * What the author of a trace remembers: places, streams with their expected lengths, keyed
 * writes. It only makes a trace meaningful; the comparison and the census judge what is right.
 */

import type { JsonObject } from "../../src/domain/json.ts";
import type { Environment } from "../../src/domain/tenant.ts";
import { createRandom, type Random } from "../crash/random.ts";
import type { Credential, RequestOperation, Sent } from "./operation.ts";
import { MIXED_TYPES, type MixedType, SINGLETONS } from "./trace_spec.ts";

export interface Stream {
  readonly type: string;
  /** Canonical. */
  readonly id: string;
  length: number;
}

/** One environment of one instance. */
export interface Place {
  /** Prefix of the names of its keys, e.g. `shop_test`. */
  readonly name: string;
  readonly slug: "shop" | "bakery";
  readonly environment: Environment;
  readonly streams: Map<string, Stream>;
  specVersion: number;
  hasExtra: boolean;
}

/** A write that has landed under a key, so that it can be repeated. */
export interface KeyedWrite {
  readonly place: Place;
  readonly sent: Sent;
  readonly json: JsonObject;
  readonly key: string;
  /** When it was last used. */
  atMs: number;
}

export interface TraceModel {
  readonly random: Random;
  readonly places: readonly Place[];
  readonly keyed: KeyedWrite[];
  /** The clock after all operations so far, in milliseconds since 1970. */
  nowMs: number;
  keysIssued: number;
  instances: number;
  anchors: number;
  erasures: number;
  errors: number;
  writes: number;
  /** Cycles through a list, so that each of its members gets its share. */
  turn<T>(list: readonly T[]): T;
}

export const START_MS = Date.UTC(2026, 0, 1);
const KEYED_MAX = 200;

export function createModel(seed: number): TraceModel {
  const turns = new Map<readonly unknown[], number>();
  return {
    random: createRandom(seed),
    places: [
      place("shop", "production"),
      place("shop", "staging"),
      place("shop", "test"),
      place("bakery", "test"),
    ],
    keyed: [],
    nowMs: START_MS,
    keysIssued: 0,
    instances: 0,
    anchors: 0,
    erasures: 0,
    errors: 0,
    writes: 0,
    turn<T>(list: readonly T[]): T {
      const at = turns.get(list) ?? 0;
      turns.set(list, at + 1);
      return list[at % list.length]!;
    },
  };
}

function place(slug: Place["slug"], environment: Environment): Place {
  const name = `${slug}_${environment}`;
  return { name, slug, environment, streams: new Map(), specVersion: 0, hasExtra: false };
}

/** Usually the test environment, because everything is allowed there. */
export function pickPlace({ random, places }: TraceModel): Place {
  const [production, staging, test, bakery] = places;
  const draw = random.next();
  if (draw < 0.5) return test!;
  return draw < 0.75 ? production! : draw < 0.9 ? staging! : bakery!;
}

export function keyOf(place: Place, scope: "read" | "write" = "write"): Credential {
  return { header: `Bearer {{${place.name}_${scope}}}` };
}

/** A request to a place; one in ten names it by its host name. */
export function sentTo(
  model: TraceModel,
  place: Place,
  sent: Pick<Sent, "method" | "path"> & Partial<Sent>,
): Sent {
  const as = keyOf(place, sent.method === "GET" && model.random.chance(0.5) ? "read" : "write");
  const ending = place.environment === "production" ? "" : `-${place.environment}`;
  const address = model.random.chance(0.1)
    ? { host: `${place.slug}${ending}` }
    : { environment: place.environment };
  return { as, ...address, ...sent };
}

/** An operation under `name`; the clock usually moves a little. */
export function request(
  model: TraceModel,
  name: string,
  sent: Sent,
  more: Partial<RequestOperation> = {},
): RequestOperation {
  const { random } = model;
  const usual = random.chance(0.6) ? 0 : random.below(1_500);
  const { advanceMs = usual } = more;
  model.nowMs += advanceMs;
  return { kind: "request", name, sent, ...more, advanceMs };
}

export function remember(model: TraceModel, write: KeyedWrite): void {
  model.keyed.push(write);
  if (model.keyed.length > KEYED_MAX) model.keyed.splice(model.random.below(KEYED_MAX), 1);
}

const STREAMS_MAX = 120;

interface PickOptions {
  readonly type?: MixedType;
  /** The share of streams that nobody has asked for yet. */
  readonly newOnes?: number;
}

/** A stream of the place, new or known; the earliest ones are picked most often. */
export function pickStream(
  model: TraceModel,
  place: Place,
  { type = model.random.pick(MIXED_TYPES), newOnes = 0.3 }: PickOptions = {},
): Stream {
  const { random } = model;
  const known = [...place.streams.values()].filter((stream) => stream.type === type);
  const isFull = known.length >= STREAMS_MAX;
  if (known.length > 0 && (isFull || !random.chance(newOnes))) {
    return known[Math.min(random.below(known.length), random.below(known.length))]!;
  }
  return streamOf(place, type, newId(random));
}

export function streamOf(place: Place, type: string, id: string): Stream {
  const key = `${type}:${id}`;
  const stream = place.streams.get(key) ?? { type, id, length: 0 };
  place.streams.set(key, stream);
  return stream;
}

const HUMANE = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** An identifier of one of the four kinds, in canonical form. */
export function newId(random: Random): string {
  const draw = random.next();
  if (draw < 0.05) return random.pick(SINGLETONS);
  if (draw < 0.3) return Array.from({ length: 9 }, () => random.pick([...HUMANE])).join("");
  if (draw < 0.45) return `${random.uuid()}:${random.pick(["a", "b", "tag7", "0123456789"])}`;
  return random.uuid();
}

/** The id in a spelling that a client may use, ready for a path. */
export function spell(random: Random, id: string): string {
  const isName = (SINGLETONS as readonly string[]).includes(id);
  if (isName || random.chance(0.7)) return encodeURIComponent(id);
  if (id.length === 9) {
    const loose = id.replaceAll("1", random.pick(["I", "L", "l"])).replaceAll("0", "O");
    return random.chance(0.5) ? loose.toLowerCase() : loose.replaceAll("V", "U");
  }
  const [uuid = "", tag] = id.split(":");
  return tag === undefined ? uuid.toUpperCase() : `${uuid.toUpperCase()}%3A${tag}`;
}
