/** What was typed as data, and data as what would have been typed. */

import assert from "node:assert/strict";
import {
  type Draft,
  draftOf,
  type Fault,
  faultsAt,
  faultsWithin,
  type Part,
  readDraft,
} from "../../../console/src/write/form_draft.ts";

const SCHEMA = {
  type: "object",
  required: ["name", "kind"],
  properties: {
    name: { type: "string" },
    kind: { const: "card" },
    total: { type: ["number", "null"] },
    isGift: { type: "boolean" },
    channel: { enum: ["web", "phone"] },
    lines: {
      type: "array",
      items: {
        type: "object",
        required: ["sku"],
        properties: { sku: { type: "string" }, qty: { type: "integer" } },
      },
    },
    address: {
      type: "object",
      required: ["v"],
      properties: { v: { const: 2 }, city: { type: "string" } },
    },
    free: true,
  },
};
const PART: Part = { root: {}, schema: SCHEMA, path: "data", isRequired: true, depth: 0 };

function read(draft: Draft): { value: unknown; faults: Fault[] } {
  const faults: Fault[] = [];
  return { value: readDraft(PART, draft, faults), faults };
}

Deno.test("What is left empty is left out, and a required constant is filled in", () => {
  assert.deepEqual(read(undefined), { value: { kind: "card" }, faults: [] });
  const emptied = new Map<string, Draft>([
    ["name", ""],
    ["total", " "],
    ["channel", ""],
    ["lines", []],
    ["address", new Map([["city", ""]])],
  ]);
  assert.deepEqual(read(emptied), { value: { kind: "card" }, faults: [] });
});

Deno.test("Each input means a value of its type", () => {
  const draft = new Map<string, Draft>([
    ["name", "Ada\nLovelace"],
    ["total", "-1.5e2"],
    ["isGift", "false"],
    ["channel", "1"],
    ["lines", [new Map([["sku", "A-1"], ["qty", "2"]]), undefined]],
    ["address", new Map([["city", "Rome"]])],
    ["free", '{"__proto__":[1]}'],
  ]);
  const { value, faults } = read(draft);
  assert.deepEqual(faults, []);
  assert.equal(
    JSON.stringify(value),
    '{"name":"Ada\\nLovelace","kind":"card","total":-150,"isGift":false,"channel":"phone",' +
      '"lines":[{"sku":"A-1","qty":2},{}],"address":{"v":2,"city":"Rome"},' +
      '"free":{"__proto__":[1]}}',
  );
  assert.deepEqual(read(new Map([["total", null]])).value, { kind: "card", total: null });
});

Deno.test("What is no number and no JSON is a fault at its place", () => {
  const draft = new Map<string, Draft>([
    ["total", "12,5"],
    ["lines", [new Map([["qty", "two"]])]],
    ["free", "{"],
  ]);
  assert.deepEqual(read(draft).faults.map(({ path }) => path), [
    "data.total",
    "data.lines.0.qty",
    "data.free",
  ]);
});

Deno.test("A number that would be sent as another one is a fault at its place", () => {
  const draft = new Map<string, Draft>([
    ["total", "1e999"],
    ["lines", [new Map([["sku", "A-1"], ["qty", "9007199254740993"]])]],
    ["free", '{"a":[1.5,{"b":9007199254740993}]}'],
  ]);
  const { faults } = read(draft);
  assert.deepEqual(faults.map(({ path }) => path), ["data.total", "data.lines.0.qty", "data.free"]);
  assert.match(faults[0]!.message, /beyond the range/);
  assert.match(faults[1]!.message, /the nearest is 9007199254740992/);
  assert.match(faults[2]!.message, /^b: .*the nearest is 9007199254740992/);
  const exact = '{"__proto__":9007199254740992,"c":1e22,"d":0.1}';
  assert.deepEqual(read(new Map([["free", exact]])).faults, []);
});

Deno.test("Data becomes the draft that means it", () => {
  const value = {
    name: "Ada",
    kind: "card",
    total: null,
    isGift: true,
    channel: "web",
    lines: [{ sku: "A-1", qty: 3 }],
    free: [1, { a: null }],
  };
  assert.deepEqual(read(draftOf(PART, value)!.draft), { value, faults: [] });
});

Deno.test("Data for which the form has no place has no draft", () => {
  for (const value of [null, [], { other: 1 }, { name: 1 }, { name: "" }, { channel: "fax" }]) {
    assert.equal(draftOf(PART, value), undefined, JSON.stringify(value));
  }
  assert.equal(draftOf(PART, JSON.parse('{"__proto__":1}')), undefined);
});

Deno.test("A fault stands at its part, and in a part written as JSON with the rest of its path", () => {
  const faults = [
    { path: "data.a", message: "is required" },
    { path: "data.a.b", message: "must be >= 0" },
    { path: "data.ab", message: "is not allowed here" },
  ];
  assert.equal(faultsAt(faults, "data.a"), "is required");
  assert.equal(faultsWithin(faults, "data.a"), "is required; b must be >= 0");
  assert.equal(faultsAt(faults, "data.b"), undefined);
});
