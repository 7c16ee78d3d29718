/**
 * Tick handlers through the whole product: a state, one event, the state after it. The details
 * of each operation are golden cases of the domain; here each goes through deploy, write,
 * storage and read. See docs/reference/handlers.md.
 */

import assert from "node:assert/strict";
import { OPERATION_NAMES } from "../../src/domain/handler/operations.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { START, withWorld } from "./world.ts";
import { METADATA } from "./world_spec.ts";

interface Row {
  readonly name: string;
  readonly handler: JsonValue;
  readonly before?: JsonObject;
  readonly data?: JsonObject;
  readonly after: JsonObject;
}

const list = [{ id: 1, n: 1 }, { id: 2, n: 2 }];

const ROWS: readonly Row[] = [
  {
    name: "set replaces",
    handler: { set: { target: "a", value: "$.data.x" } },
    before: { a: [1], b: 1 },
    data: { x: { y: 1 } },
    after: { a: { y: 1 }, b: 1 },
  },
  {
    name: "set creates missing parents",
    handler: { set: { target: "a.b.c", value: 1 } },
    after: { a: { b: { c: 1 } } },
  },
  {
    name: 'set with target "" is the whole state',
    handler: { set: { target: "", value: "$.data" } },
    before: { a: 1 },
    data: { b: 2 },
    after: { b: 2 },
  },
  {
    name: 'set with target "" and no object does nothing',
    handler: { set: { target: "", value: "$.data.n" } },
    before: { a: 1 },
    data: { n: 5 },
    after: { a: 1 },
  },
  {
    name: "merge is shallow",
    handler: { merge: { target: "a", value: "$.data" } },
    before: { a: { x: 1, deep: { p: 1 } } },
    data: { y: 2, deep: { q: 2 } },
    after: { a: { x: 1, deep: { q: 2 }, y: 2 } },
  },
  {
    name: "merge into a missing target is merge into {}",
    handler: { merge: { target: "a", value: "$.data" } },
    data: { y: 2 },
    after: { a: { y: 2 } },
  },
  {
    name: "append pushes",
    handler: { append: { target: "a", value: "$.data.x" } },
    before: { a: [1] },
    data: { x: 2 },
    after: { a: [1, 2] },
  },
  {
    name: "append to a missing or null target begins a list",
    handler: [{ append: { target: "a", value: 1 } }, { append: { target: "b", value: 2 } }],
    before: { b: null },
    after: { b: [2], a: [1] },
  },
  {
    name: "append where the target is no list does nothing",
    handler: { append: { target: "a", value: 1 } },
    before: { a: "text" },
    after: { a: "text" },
  },
  {
    name: "append_unique leaves out a deep-equal element",
    handler: { append_unique: { target: "a", value: "$.data.x" } },
    before: { a: [{ p: 1, q: 2 }] },
    data: { x: { q: 2, p: 1 } },
    after: { a: [{ p: 1, q: 2 }] },
  },
  {
    name: "append_unique with key leaves out an element with the same key field",
    handler: { append_unique: { target: "a", value: "$.data", key: "id" } },
    before: { a: list },
    data: { id: 2, n: 9 },
    after: { a: list },
  },
  {
    name: "remove deletes the key",
    handler: { remove: { target: "a" } },
    before: { a: 1, b: 2 },
    after: { b: 2 },
  },
  {
    name: "remove with where drops matching elements",
    handler: { remove: { target: "a", where: { id: "$.data.id" } } },
    before: { a: list },
    data: { id: 1 },
    after: { a: [list[1]!] },
  },
  {
    name: "increment adds 1 by default, from 0 where the target is missing or null",
    handler: [{ increment: { target: "a" } }, { increment: { target: "b" } }, {
      increment: { target: "c" },
    }],
    before: { a: 4, b: null },
    after: { a: 5, b: 1, c: 1 },
  },
  {
    name: "increment takes by",
    handler: { increment: { target: "a", by: "$.data.by" } },
    before: { a: 1 },
    data: { by: 2.5 },
    after: { a: 3.5 },
  },
  {
    name: "increment whose result is not finite does nothing",
    handler: [
      { set: { target: "a", value: Number.MAX_VALUE } },
      { increment: { target: "a", by: Number.MAX_VALUE } },
    ],
    after: { a: Number.MAX_VALUE },
  },
  {
    name: "increment of a text does nothing",
    handler: { increment: { target: "a" } },
    before: { a: "1" },
    after: { a: "1" },
  },
  {
    name: "decrement subtracts",
    handler: { decrement: { target: "a", by: 3 } },
    before: { a: 1 },
    after: { a: -2 },
  },
  {
    name: "filter keeps matching elements",
    handler: { filter: { target: "a", where: { gt: ["$item.n", 1] } } },
    before: { a: list },
    after: { a: [list[1]!] },
  },
  {
    name: "map replaces each element by the template",
    handler: { map: { target: "a", value: { number: "$item.n" } } },
    before: { a: list },
    after: { a: [{ number: 1 }, { number: 2 }] },
  },
  {
    name: "map takes another name with as",
    handler: { map: { target: "a", as: "line", value: "$line.id" } },
    before: { a: list },
    after: { a: [1, 2] },
  },
  {
    name: "update_where merges an object into each match",
    handler: { update_where: { target: "a", where: { id: 2 }, value: { done: true } } },
    before: { a: list },
    after: { a: [list[0]!, { id: 2, n: 2, done: true }] },
  },
  {
    name: "update_where replaces each match by another value",
    handler: { update_where: { target: "a", where: { id: 2 }, value: "gone" } },
    before: { a: list },
    after: { a: [list[0]!, "gone"] },
  },
  {
    name: "upsert merges into the element with the same key",
    handler: { upsert: { target: "a", key: "id", value: "$.data" } },
    before: { a: list },
    data: { id: 1, x: 1 },
    after: { a: [{ id: 1, n: 1, x: 1 }, list[1]!] },
  },
  {
    name: "upsert pushes where there is none",
    handler: { upsert: { target: "a", key: "id", value: "$.data" } },
    before: { a: list },
    data: { id: 3 },
    after: { a: [...list, { id: 3 }] },
  },
  {
    name: "set_at sets target[key]",
    handler: { set_at: { target: "a", key: "$.data.k", value: "$.data.v" } },
    data: { k: "x.y", v: 1 },
    after: { a: { "x.y": 1 } },
  },
  {
    name: "merge_at merges into target[key]",
    handler: { merge_at: { target: "a", key: "$.data.k", value: { p: 1 } } },
    before: { a: { k: { q: 2 } } },
    data: { k: "k" },
    after: { a: { k: { q: 2, p: 1 } } },
  },
  {
    name: "remove_at removes target[key]",
    handler: { remove_at: { target: "a", key: "$.data.k" } },
    before: { a: { k: 1, l: 2 } },
    data: { k: "k" },
    after: { a: { l: 2 } },
  },
  {
    name: "increment_at increments target[key]",
    handler: { increment_at: { target: "a", key: "$.data.k", by: 2 } },
    before: { a: { k: 1 } },
    data: { k: "k" },
    after: { a: { k: 3 } },
  },
  {
    name: "increment_at with the key __proto__ addresses an own property",
    handler: { increment_at: { target: "a", key: "$.data.k" } },
    data: { k: "constructor" },
    after: { a: { constructor: 1 } } as unknown as JsonObject,
  },
  {
    name: "if runs then where the predicate holds",
    handler: {
      if: { eq: ["$.data.x", 1] },
      then: [{ set: { target: "a", value: 1 } }],
      else: [{ set: { target: "a", value: 2 } }],
    },
    data: { x: 1 },
    after: { a: 1 },
  },
  {
    name: "if runs else where it does not",
    handler: {
      if: { eq: ["$.data.x", 1] },
      then: [{ set: { target: "a", value: 1 } }],
      else: [{ set: { target: "a", value: 2 } }],
    },
    data: { x: 2 },
    after: { a: 2 },
  },
  {
    name: "let binds $name for the inner operations",
    handler: { let: { sum: "$.data.x" }, then: [{ increment: { target: "a", by: "$sum" } }] },
    data: { x: 4 },
    after: { a: 4 },
  },
  {
    name: "paths: data, metadata, key, id, type and the state",
    handler: {
      set: {
        target: "a",
        value: [
          "$.data.x",
          "$.metadata.timestamp",
          "$.metadata.actor",
          "$.key",
          "$.id",
          "$.type",
          "@.s",
          '$.data["odd key"]',
          "$.data.l[1]",
          "$.data.l[*]",
        ],
      },
    },
    before: { s: "state" },
    data: { x: 1, "odd key": 2, l: [3, 4] },
    after: {
      s: "state",
      a: [
        1,
        START,
        { type: "user", id: "global" },
        "thing:global",
        "global",
        "was_done",
        "state",
        2,
        4,
        [3, 4],
      ],
    },
  },
  {
    name: "a missing path is null",
    handler: { set: { target: "a", value: "$.data.none" } },
    after: { a: null },
  },
  {
    name: "a missing path with ? skips the operation",
    handler: [{ set: { target: "a", value: "$.data.none?" } }, { set: { target: "b", value: 1 } }],
    after: { b: 1 },
  },
  {
    name: 'templates: {"$"}, {"$merge"}, {"$literal"} at any depth',
    handler: {
      set: {
        target: "a",
        value: {
          one: { $: "$.data.x" },
          two: { $merge: ["$.data.o", { q: 2 }] },
          three: { $literal: "$.data.x" },
        },
      },
    },
    data: { x: 1, o: { p: 1 } },
    after: { a: { one: 1, two: { p: 1, q: 2 }, three: "$.data.x" } },
  },
];

const PREDICATES: readonly (readonly [predicate: JsonObject, holds: boolean])[] = [
  [{ eq: ["$.data.n", 2] }, true],
  [{ equals: ["$.data.o", { q: [1], p: 1 }] }, true],
  [{ eq: ["$.data.n", "2"] }, false],
  [{ ne: ["$.data.n", 3] }, true],
  [{ not_equals: ["$.data.n", 2] }, false],
  [{ gt: ["$.data.n", 1] }, true],
  [{ gt: ["$.data.n", 2] }, false],
  [{ gte: ["$.data.n", 2] }, true],
  [{ lt: ["$.data.s", "b"] }, true],
  [{ lte: ["$.data.s", "a"] }, true],
  [{ lt: ["$.data.n", "3"] }, false],
  [{ in: ["$.data.s", ["a", "b"]] }, true],
  [{ not_in: ["$.data.s", ["b"]] }, true],
  [{ exists: "$.data.n" }, true],
  [{ exists: "$.data.none" }, false],
  [{ and: [{ eq: [1, 1] }, { eq: ["$.data.n", 2] }] }, true],
  [{ and: [{ eq: [1, 1] }, { eq: ["$.data.n", 3] }] }, false],
  [{ or: [{ eq: [1, 2] }, { eq: ["$.data.n", 2] }] }, true],
  [{ not: { eq: ["$.data.n", 2] } }, false],
];

const predicateRows = PREDICATES.map(([predicate, holds]): Row => ({
  name: `the predicate ${JSON.stringify(predicate)} ${holds ? "holds" : "does not hold"}`,
  handler: { if: predicate, then: [{ set: { target: "held", value: true } }] },
  data: { n: 2, s: "a", o: { p: 1, q: [1] } },
  after: holds ? { held: true } : {},
}));

for (const { name, handler, before = {}, data = {}, after } of [...ROWS, ...predicateRows]) {
  const events = {
    was_begun: { schema: true, handler: { set: { target: "", value: "$.data" } } },
    was_done: { schema: true, handler },
  };
  const spec = { agent_types: ["user"], aggregate_types: { thing: { events } } };
  Deno.test(`handlers: ${name}`, () =>
    withWorld(async ({ send }) => {
      for (const [type, given] of [["was_begun", before], ["was_done", data]] as const) {
        const body = { data: given, metadata: METADATA };
        const written = await send("POST", `/thing/global/${type}`, { body });
        assert.equal(written.status, 201, written.text);
      }
      for (const query of ["", "?synchronous=true"]) {
        const { body } = await send("GET", `/thing/global${query}`);
        assert.equal(JSON.stringify(sorted(body.data)), JSON.stringify(sorted(after)));
      }
    }, { spec }));
}

Deno.test("handlers: each operation has a row here", () => {
  const text = JSON.stringify([...ROWS, ...predicateRows].map(({ handler }) => handler));
  for (const name of OPERATION_NAMES) assert.ok(text.includes(`{"${name}":`), `a row of ${name}`);
});

/** Sorts the keys, because the order of keys in a state means nothing. */
function sorted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key]!)]));
}

Deno.test("handlers: an event whose type the reader does not handle any more is skipped", () =>
  withWorld(async ({ send, instanceId }) => {
    await send("POST", "/note/global/was_written", {
      body: { data: { text: "a" }, metadata: METADATA },
    });
    const spec = { agent_types: ["user"], aggregate_types: { note: { events: {} } } };
    const body = { spec, force: true, environment: "test" };
    assert.equal((await send("POST", `/api/instances/${instanceId}/spec`, { body })).status, 200);
    const read = await send("GET", "/note/global");
    assert.deepEqual([read.body.data, read.body.metadata.length], [{}, 1]);
  }));
