/** Documents of a megabyte for an operator's deploy or dry run. */

import type { Attack, AttackGroup, Json } from "../attack.ts";
import {
  collidingTexts,
  deploySpec,
  eventType,
  fields,
  idOf,
  judgedBy,
  nest,
  read,
  repeat,
  specOf,
  write,
} from "../documents.ts";

const NEEDS = "operator of one instance";

interface Deploy {
  readonly name: string;
  readonly does: string;
  /** `turn` makes each document differ from the others. */
  readonly next: (turn: number) => Json;
  /** Deployed before the attack; none by default. */
  readonly current?: () => Json;
  /** Default: a dry run. */
  readonly isReal?: boolean;
  readonly clients?: number;
}

function deployed({ name, does, next, current, isReal = false, clients = 2 }: Deploy): Attack {
  const made = new Map<number, Json>();
  const document = (turn: number) => {
    const at = turn % 4;
    if (!made.has(at)) made.set(at, next(at));
    return made.get(at);
  };
  return {
    name,
    does,
    needs: NEEDS,
    spec: current,
    waves: [{
      request: (turn) => deploySpec(document(turn), isReal ? { force: true } : { dry_run: true }),
      clients,
    }],
  };
}

/** An object schema with `count` properties. */
function wide(count: number, type: string): Json {
  return { type: "object", properties: fields(count, () => ({ type })) };
}

function branches(count: number, properties: number, more: Json = {}): Json {
  return {
    $defs: { all: { type: "object", properties: fields(properties, () => true), ...more } },
    type: "object",
    anyOf: repeat(count, () => ({ $ref: "#/$defs/all" })),
  };
}

function one(schema: Json): Json {
  return specOf({ thing: { was_seen: judgedBy(schema) } });
}

/** 48 lists of so many numbers: one list of a body has 100,000 items at most. */
function zeros(each: number): Json {
  return repeat(48, () => repeat(each, () => 0));
}

/** Alternatives that all mean the end of one chain, which has this type. */
function chained(type: string): Json {
  const name = (at: number) => `${at}${"x".repeat(600)}`;
  const links = repeat(95, (at) => [name(at), { $ref: `#/$defs/${name(at + 1)}` }]);
  return one({
    $defs: { ...Object.fromEntries(links), [name(95)]: { type } },
    properties: { p: { anyOf: repeat(250, () => ({ $ref: `#/$defs/${name(0)}` })) } },
  });
}

function manyParts(minProperties: number): Json {
  const name = "x".repeat(3_000);
  return one({
    $defs: { [name]: { allOf: repeat(240, (i) => ({ minLength: i })) } },
    properties: {
      p: { anyOf: repeat(250, () => ({ $ref: `#/$defs/${name}` })), minProperties },
    },
  });
}

/** A spec of some 760 KB, for deploys and for reads of its OpenAPI document. */
function largeSpec(): Json {
  return specOf(
    Object.fromEntries(repeat(100, (i) => [
      `thing${i}`,
      fields(40, () => judgedBy(wide(5, "string"))),
    ])),
  );
}

/** A spec of 700 KB with as many aggregate types as it may have, and the smallest event types. */
function manyTypes(): Json {
  return specOf(
    Object.fromEntries(
      repeat(2_000, (i) => [`t${i}`, fields(9, () => ({ schema: true, handler: [] }))]),
    ),
  );
}

/** A hundred clients that all ask for the current spec. */
function specReads(name: string, does: string, method: string): Attack {
  return {
    name,
    does,
    needs: NEEDS,
    spec: manyTypes,
    waves: [{
      request: {
        method,
        path: "/api/instances/{instance}/spec?environment=test",
        as: "operator",
      },
      clients: 100,
    }],
  };
}

export const SPECS: AttackGroup = {
  title: "specs",
  attacks: [
    deployed({
      name: "dry run of 100 references to 6000 properties",
      does: "100 branches of anyOf that each refer to one definition of 6,000 properties",
      current: () => one(branches(100, 6_000)),
      next: (turn) => one(branches(100, 6_000, { minProperties: turn })),
    }),
    deployed({
      name: "dry run of chained references",
      does: "12 definitions, each of which refers eight times to the next",
      current: () => one(chain(12, 8, 1)),
      next: (turn) => one(chain(12, 8, 2 + turn)),
    }),
    deployed({
      name: "dry run of recursive references",
      does: "27 definitions that all refer to all",
      current: () => one(mesh(27, "string")),
      next: (turn) => one(mesh(27, turn % 2 === 0 ? "number" : "string")),
    }),
    deployed({
      name: "dry run of many types",
      does: "10,000 event types in 100 aggregate types",
      next: (turn) =>
        specOf(
          fields(100, () => fields(80, () => ({ schema: { minProperties: turn }, handler: [] }))),
        ),
    }),
    deployed({
      name: "dry run of one wide schema",
      does: "4,900 properties in one schema",
      current: () => one(wide(4_900, "string")),
      next: (turn) => one({ ...wide(4_900, "string"), minProperties: turn + 1 }),
    }),
    deployed({
      name: "dry run of a deep schema",
      does: "20 levels in each of 150 properties",
      next: (turn) =>
        one({
          type: "object",
          minProperties: turn,
          properties: fields(
            300,
            () => nest(20, (inner) => ({ type: "object", properties: { a: inner } }), {}),
          ),
        }),
    }),
    deployed({
      name: "dry run of large patterns",
      does: "2,000 patterns with counted repetitions of classes",
      next: (turn) =>
        one({
          properties: fields(
            2_000,
            (i) => ({ pattern: `[\\p{L}\\p{M}]{1,900}x${turn}y${i}` }),
          ),
        }),
    }),
    deployed({
      name: "dry run of 100 listeners of 100 patterns",
      does: "10,000 patterns of events, against 4,000 event types",
      next: (turn) =>
        specOf(
          Object.fromEntries(repeat(100, (i) => [`thing${i}`, fields(40, () => eventType())])),
          {
            modules: {
              listeners: fields(100, (i) => ({
                url: `https://a${i}.example.com/${turn}`,
                secret: "a secret of sixteen",
                events: repeat(100, (k) => `thing${k}.*`),
              })),
            },
          },
        ),
    }),
    deployed({
      name: "dry run of 200 sagas of 50 steps",
      does: "10,000 steps, each of which refers to all before it",
      next: (turn) =>
        specOf({ work: { was_begun: eventType(), was_done: eventType() } }, {
          modules: { sagas: fields(140, () => longSaga(turn)) },
        }),
    }),
    deployed({
      name: "dry run of a graph of implications",
      does: "80 types that each imply all 80",
      next: (turn) =>
        specOf({
          loop: fields(80, () =>
            eventType([], {
              implications: repeat(80, (i) => implied(i, turn)),
            })),
        }),
    }),
    deployed({
      name: "dry run of 60000 singletons",
      does: "as many names as the document can hold",
      next: (turn) =>
        specOf({ thing: { was_seen: eventType() } }, {
          singletons: repeat(60_000, (i) => `s${turn}_${i}`),
        }),
    }),
    deployed({
      name: "dry run of dynamic references to long names",
      does: "2,600 references to 50 anchors within a name of 35,000 characters",
      next: (turn) =>
        one({
          $defs: {
            ["x".repeat(35_000)]: {
              $defs: fields(
                50,
                (i) => ({ $id: `r${i}`, $dynamicAnchor: "a", minProperties: turn }),
              ),
            },
          },
          allOf: repeat(13, () => ({ allOf: repeat(200, () => ({ $dynamicRef: "r0#a" })) })),
        }),
    }),
    deployed({
      name: "dry run of alternatives behind chains",
      does: "250 alternatives that each lead through 95 references with names of 600 characters",
      current: () => chained("string"),
      next: (turn) => chained(turn % 2 === 0 ? "integer" : "boolean"),
    }),
    deployed({
      name: "dry run of alternatives of many parts",
      does: "250 alternatives, each of the same 240 parts behind a name of 3,000 characters",
      current: () => manyParts(0),
      next: (turn) => manyParts(1 + turn),
    }),
    deployed({
      name: "dry run of singletons with one hash",
      does: "30,000 singletons that share a bucket in the engine's own sets",
      next: (turn) =>
        specOf({ thing: { was_seen: eventType() } }, {
          singletons: Object.values(collidingTexts(30_000, 30_000 * (turn % 400))),
        }),
    }),
    deployed({
      name: "dry run of 150 sagas beside 50000 singletons",
      does: "each saga is kept with the names that it may use",
      next: (turn) =>
        specOf({ work: { was_begun: eventType(), was_done: eventType() } }, {
          singletons: repeat(50_000, (i) => `s${turn}_${i}`),
          modules: { sagas: fields(150, () => shortSaga()) },
        }),
    }),
    deployed({
      name: "dry run of long descriptions",
      does: "a megabyte of text that nobody reads",
      next: (turn) =>
        specOf({
          thing: { was_seen: eventType([], { description: `${turn}${"a".repeat(900_000)}` }) },
        }),
    }),
    deployed({
      name: "dry run of large handlers",
      does: "40 handlers of 6,000 values each",
      next: (turn) =>
        specOf({
          thing: fields(40, () =>
            eventType(
              repeat(
                300,
                (i) => ({ set: { target: `a.b${i}`, value: ["$.data.x", turn, "@.y[*].z"] } }),
              ),
            )),
        }),
    }),
    deployed({
      name: "dry run of many faults",
      does: "a spec with 30,000 faults",
      next: (turn) =>
        specOf({
          thing: fields(300, () => eventType(repeat(100, () => ({ sett: { tarrget: turn } })))),
        }),
    }),
    deployed({
      name: "dry run of misspelt names",
      does: "an unknown name of 100 KB, for which a near one is looked for",
      next: (turn) =>
        specOf({ thing: { was_seen: eventType({ [`se${"t".repeat(100_000 + turn)}`]: {} }) } }),
    }),
    deployed({
      name: "dry run of unknown names beside long ones",
      does: "19,000 paths to a name that nothing binds, beside two names of 250 KB that are bound",
      next: (turn) =>
        specOf({
          thing: {
            was_seen: eventType({
              let: { ["a".repeat(250_000)]: turn, ["b".repeat(250_000)]: 1 },
              then: { set: { target: "x", value: repeat(19_000, () => "$z") } },
            }),
          },
        }),
    }),
    deployed({
      name: "dry run of a let of 6000 names",
      does: "3 handlers that bind 6,000 names at once and read each of them",
      next: (turn) =>
        specOf({
          thing: fields(3, () =>
            eventType({
              let: fields(6_000, () => turn),
              then: { set: { target: "x", value: repeat(6_000, (i) => `$f${i}`) } },
            })),
        }),
    }),
    deployed({
      name: "dry run of unknown types in never_cache",
      does: "40,000 names, none of which is near one of the 2,000 types of the spec",
      next: (turn) =>
        specOf(fields(2_000, () => ({})), {
          modules: { never_cache: repeat(40_000, (i) => `thing_${turn}_${i}`) },
        }),
    }),
    deployed({
      name: "dry run of classes that name sets again and again",
      does: "250 patterns whose one class names the letters 390 times",
      next: (turn) =>
        one({
          properties: fields(
            250,
            (i) => ({ pattern: `^[${"\\p{L}".repeat(390)}]{${turn + 1}}${i}` }),
          ),
        }),
    }),
    deployed({
      name: "dry run of large enums and constants",
      does: "20,000 objects as the values of an enum",
      next: (turn) =>
        one({ properties: { a: { enum: repeat(20_000, (i) => ({ a: i, b: [turn] })) } } }),
    }),
    deployed({
      name: "dry run of half a million subschemas",
      does: "an allOf of 480,000 numbers, of which 250 may be, and those schemas",
      next: (turn) => one({ allOf: repeat(48, () => ({ allOf: repeat(10_000 - turn, () => 0) })) }),
    }),
    deployed({
      name: "dry run beside a long note",
      does: "the current schema has a default of 480,000 numbers, the new one has a few less",
      current: () => one({ default: zeros(10_000) }),
      next: (turn) => one({ default: zeros(9_999 - turn) }),
    }),
    deployed({
      name: "dry run of a guard of 460000 values",
      does: "a definition has at most 20,000 values",
      next: (turn) =>
        specOf({
          thing: {
            was_seen: {
              schema: true,
              handler: [],
              guards: [{ require: zeros(9_600 - turn), message: "No." }],
            },
          },
        }),
    }),
    deployed({
      name: "dry run of 85000 names beside a saga",
      does: "six aggregate types of 14,200 event types that are no definitions, and one saga",
      next: (turn) =>
        specOf(fields(6, () => fields(14_200, () => turn)), {
          modules: { sagas: { one: shortSaga() } },
        }),
    }),
    deployed({
      name: "dry run of handlers of 12000 modules",
      does: "each event type calls a module of a name of its own, and none of them exists",
      next: (turn) =>
        specOf({
          thing: fields(12_000, (i) => ({ schema: true, handler: { wasm: `m${turn}_${i}` } })),
        }),
    }),
    deployed({
      name: "deploys without a pause",
      does: "a spec of 760 KB is deployed again and again, each time another",
      next: (turn) => ({ ...largeSpec(), description: `number ${turn}` }),
      isReal: true,
    }),
    {
      name: "deploys under a writer",
      does: "handlers change every moment, while an aggregate of 10,000 events is read",
      needs: NEEDS,
      spec: () => specOf({ thing: { was_seen: eventType({ increment: { target: "n" } }) } }),
      prepare: () => repeat(100, (i) => write("thing", idOf(i), "was_seen", {})),
      waves: [
        {
          request: (turn) =>
            deploySpec(
              specOf({ thing: { was_seen: eventType({ increment: { target: `n${turn}` } }) } }),
            ),
          clients: 2,
        },
        { request: read("/thing?resolve=true&limit=200"), clients: 4 },
      ],
    },
    specReads("reads of a large spec", "100 readers of a spec of 18,000 event types", "GET"),
    specReads("heads of a large spec", "100 that ask for its headers alone", "HEAD"),
    {
      name: "short pages of many types",
      does: "300 readers of one type of 2,000",
      needs: "read key",
      spec: manyTypes,
      waves: [{ request: read("/_types?limit=1"), clients: 300 }],
    },
    {
      name: "openapi of a large spec",
      does: "the document of a spec of 760 KB, again and again",
      needs: "read key",
      spec: largeSpec,
      waves: [{ request: read("/openapi.json"), clients: 4 }],
    },
    {
      name: "openapi that nobody reads",
      does: "the same document, asked for by 24 connections that read nothing",
      needs: "read key",
      spec: largeSpec,
      waves: [{ request: read("/openapi.json"), manner: "never_read", clients: 24 }],
    },
    {
      name: "openapi of wide schemas",
      does: "the document of a spec whose one schema has 4,900 properties",
      needs: "read key",
      spec: () => one(wide(4_900, "string")),
      waves: [{ request: read("/openapi.json"), clients: 4 }],
    },
  ],
};

/** A chain of definitions, each of which refers to the next `references` times. */
function chain(length: number, references: number, least: number): Json {
  const $defs = fields(length, (i) => ({
    type: "object",
    properties: i === length - 1
      ? { a: { type: "string", minLength: least } }
      : fields(references, () => ({ $ref: `#/$defs/f${i + 1}` })),
  }));
  return { $defs, type: "object", properties: { a: { $ref: "#/$defs/f0" } } };
}

/** Definitions that all refer to each other and to themselves. */
function mesh(count: number, type: string): Json {
  const $defs = fields(count, () => ({
    type: "object",
    properties: { ...fields(count, (i) => ({ $ref: `#/$defs/f${i}` })), leaf: { type } },
  }));
  return { $defs, type: "object", properties: { a: { $ref: "#/$defs/f0" } } };
}

function implied(to: number, turn: number): Json {
  return {
    emit: { aggregate_type: "loop", id: "$.id", event_type: `f${to}`, data: { n: turn } },
  };
}

function shortSaga(): Json {
  const emit = { aggregate_type: "work", event_type: "was_done", id: "global", data: {} };
  return {
    trigger: { aggregate_type: "work", event_type: "was_begun" },
    steps: [{ name: "only", emit }],
  };
}

function longSaga(turn: number): Json {
  return {
    trigger: { aggregate_type: "work", event_type: "was_begun" },
    steps: repeat(50, (i) => ({
      name: `s${i}`,
      emit: {
        aggregate_type: "work",
        id: "$.id",
        event_type: "was_done",
        data: i === 0 ? { turn } : `$steps.s${i - 1}.data`,
      },
    })),
  };
}
