/**
 * The cases of the fuzz: each is a few requests of an attacker, made from a number alone.
 * `scale`, from 0 to 1, makes the same case smaller: that is how a finding is shrunk.
 */

import type { HostileRequest, Json } from "../attack.ts";
import {
  deployProjection,
  deploySpec,
  eventType,
  idOf,
  query,
  read,
  repeat,
  specOf,
  write,
  writeRepeated,
} from "../documents.ts";
import { limits } from "../../../src/domain/limits.ts";
import { randomHandler, randomPredicate } from "./handlers.ts";
import { type Random, randomFrom } from "./random.ts";
import { randomSchema } from "./schemas.ts";
import { FIELDS, randomData } from "./shapes.ts";
import { randomStatement } from "./statements.ts";

export const CASE_KINDS = [
  "fold",
  "guard",
  "schema",
  "reaction",
  "view",
  "query",
  "body",
  "deploy",
  "path",
] as const;
export type CaseKind = typeof CASE_KINDS[number];

export interface FuzzCase {
  readonly seed: number;
  readonly kind: CaseKind;
  readonly scale: number;
  /** The events of the aggregate type `t<number>`, if the case needs any. */
  readonly events?: Json;
  readonly requests: readonly HostileRequest[];
}

/** How often each kind occurs: few processes run statements, and deploys are whole documents. */
const SHARES: Readonly<Record<CaseKind, number>> = {
  fold: 24,
  guard: 6,
  schema: 22,
  reaction: 8,
  view: 6,
  query: 4,
  body: 16,
  deploy: 6,
  path: 8,
};
const WHEEL = CASE_KINDS.flatMap((kind) => repeat(SHARES[kind], () => kind));

/** The aggregate type of a case; each case of a batch has its own. */
export function typeOf(number: number): string {
  return `t${number}`;
}

export function makeCase(seed: number, number: number, scale = 1): FuzzCase {
  const random = randomFrom(seed);
  const kind = random.pick(WHEEL);
  return { seed, kind, scale, ...MAKERS[kind](random, typeOf(number), scale, seed) };
}

type Made = Pick<FuzzCase, "events" | "requests">;
type Maker = (random: Random, type: string, scale: number, seed: number) => Made;

const GROW = eventType({ merge: { target: "", value: "$.data" } });

const MAKERS: Readonly<Record<CaseKind, Maker>> = {
  fold(random, type, scale, seed) {
    const id = idOf(seed);
    const grown = repeat(
      random.size(12),
      () => write(type, id, "had_grown", randomData(random, scale)),
    );
    const data = randomData(random, random.chance(80) ? 0.0003 : scale * 0.5);
    const room = Math.floor(7_000_000 / (JSON.stringify(data).length + 250));
    const count = Math.min(room, random.size(Math.max(1, Math.floor(10_000 * scale))));
    const judged = writeRepeated(type, id, count, { type: "was_judged", data });
    const events = { had_grown: GROW, was_judged: eventType(randomHandler(random, scale)) };
    return {
      events,
      requests: [...grown, judged, read(`/${type}/${id}`), read(`/${type}?resolve=true`)],
    };
  },
  guard(random, type, scale, seed) {
    const id = idOf(seed);
    const grown = repeat(
      1 + random.size(6),
      () => write(type, id, "had_grown", randomData(random, scale)),
    );
    const guards = repeat(random.size(limits.guardsMax), () => ({
      with: { other: { type, id: random.pick([id, "$.id", "$.data.text", "global"]) } },
      require: randomPredicate(random, [".with.other"], 3),
      message: "No",
    }));
    const data = randomData(random, random.chance(80) ? 0.0003 : scale * 0.3);
    const room = Math.floor(7_000_000 / (JSON.stringify(data).length + 250));
    const count = Math.min(room, random.size(Math.max(1, Math.floor(10_000 * scale))));
    const event = { type: "was_guarded", data };
    const handler = random.chance(50) ? [] : randomHandler(random, 0.01);
    const many = () => writeRepeated(type, id, count, event);
    const one = () => write(type, id, "was_guarded", data);
    return {
      events: { had_grown: GROW, was_guarded: eventType(handler, { guards }) },
      requests: [...grown, one(), many(), ...repeat(random.size(20), one), many()],
    };
  },
  schema(random, type, scale, seed) {
    const events = { was_seen: { schema: randomSchema(random, scale), handler: [] } };
    const data = { ...randomData(random, scale / 2), ...randomData(random, scale / 2) };
    const count = Math.min(
      random.size(50),
      Math.floor(7_500_000 / (JSON.stringify(data).length + 100)),
    );
    return {
      events,
      requests: [
        write(type, idOf(seed), "was_seen", data),
        writeRepeated(type, idOf(seed), count, { type: "was_seen", data }),
      ],
    };
  },
  reaction(random, type, scale, seed) {
    const events = {
      was_seen: eventType([], { implications: randomImplications(random, type, scale) }),
    };
    const data = {
      ...randomData(random, scale / 4),
      ids: repeat(random.size(Math.max(1, Math.floor(2_000 * scale))), idOf),
    };
    return { events, requests: [write(type, idOf(seed), "was_seen", data)] };
  },
  view(random, type, scale, seed) {
    const projection = {
      name: `v_${type}`,
      for_each: type,
      sources: { own: "$key" },
      select: Object.fromEntries(
        repeat(
          random.size(Math.max(1, Math.floor(100 * scale))),
          (i) => [`c${i}`, randomColumn(random, 2)],
        ),
      ),
    };
    const grown = repeat(4, () => write(type, idOf(seed), "had_grown", randomData(random, scale)));
    return {
      events: { had_grown: GROW },
      requests: [
        ...grown,
        deployProjection(projection),
        read(`/_projections/v_${type}/${idOf(seed)}?synchronous=true`),
      ],
    };
  },
  query(random, _type, scale) {
    return { requests: [query(randomStatement(random, scale))] };
  },
  body(random, _type, scale) {
    const path = random.pick([
      "/api/login",
      "/thing/global/was_seen",
      "/thing/global",
      "/_atomic-write",
      "/_projections/query",
    ]);
    return {
      requests: [{
        path,
        body: randomBody(random, scale),
        as: path === "/api/login" ? "nobody" : "write",
      }],
    };
  },
  deploy(random, _type, scale) {
    const count = random.size(Math.max(1, Math.floor(40 * scale)));
    const types = repeat(count, (i) =>
      [`d${i}`, {
        was_seen: {
          schema: randomSchema(random, scale),
          handler: randomHandler(random, scale / count),
        },
      }] as const);
    return {
      requests: [deploySpec(specOf(Object.fromEntries(types)), { dry_run: true, force: true })],
    };
  },
  path(random, _type, scale) {
    const unit = random.pick([
      "%C3%A4",
      "/a",
      "%2F",
      "a=1&",
      "%",
      "..%2f",
      ";",
      "a".repeat(40),
      "%00",
      "start=",
    ]);
    const length = random.size(Math.max(1, Math.floor(8_000 * scale)));
    const path = `/thing${random.pick(["/", "?", "?start=", "/global/events?start="])}${
      unit.repeat(length)
    }`.slice(0, 60_000);
    return { requests: [{ path, as: random.pick(["read", "nobody"] as const) }] };
  },
};

function randomImplications(random: Random, type: string, scale: number): Json {
  const emit = {
    aggregate_type: type,
    id: random.pick(["$.id", "global"]),
    event_type: "was_seen",
    data: random.pick(["$.data", {}]),
  };
  const each = { ...emit, id: "$item" };
  const later = { delay: "1s", emit };
  return repeat(random.size(Math.max(1, Math.floor(60 * scale))), () =>
    random.pick<Json>([
      { emit },
      { emit, condition: withoutState(randomPredicate(random, [], 1)) },
      { map: { in: "$.data.ids", emit: each } },
      { schedule: later },
      { pipeline: repeat(random.size(15), () => ({ emit })) },
    ]));
}

/** Implications see only the event. */
function withoutState(predicate: Json): Json {
  return JSON.parse(JSON.stringify(predicate).replaceAll(/"@(\.?)/g, '"$.data$1'));
}

function randomColumn(random: Random, depth: number): Json {
  const field = () =>
    `$.own.${random.pick(FIELDS)}${random.pick(["", "", "[*]", "[*][*]", "[*].a"])}`;
  if (depth === 0) return field();
  const inner = () => randomColumn(random, depth - 1);
  return random.pick<Json>([
    field(),
    { $count: field() },
    { $sum: field() },
    { $map: field(), to: { a: inner(), b: "$item" } },
    { $lookup: field(), where: { eq: ["$item.a", field()] }, select: "$item" },
    { $map: field(), as: "each", to: { $lookup: field(), where: { a: "$each" }, select: inner() } },
  ]);
}

const UNITS = [
  "{},",
  "[],",
  '"a":1,',
  "1,",
  '"\\u0041",',
  "0.1,",
  "-",
  "[",
  '{"a":',
  '"',
  "\\",
  "1e9,",
  "\n",
  "null,",
  '{"a":[{}]},',
  "\u0301",
  "\u0334\u0301",
  '"\ud55c",',
] as const;

function randomBody(random: Random, scale: number): string {
  const unit = random.pick(UNITS);
  const bytes = new TextEncoder().encode(unit).length;
  const length = random.size(Math.max(1, Math.floor(8_000_000 * scale)));
  const text = unit.repeat(Math.floor(length / bytes));
  return random.pick([
    text,
    `{"email":"a@b.cc","password":"${text}"}`,
    `{"a":[${text}1]}`,
    `{"events":[${text}{}],"metadata":{}}`,
    `{"data":{${text}"z":0},"metadata":{"actor":{"type":"user","id":"global"}}}`,
    `{"sql":"${text}","params":[${text}1]}`,
    `${"[".repeat(60)}${text}`,
  ]);
}
