/** The TypeScript that is written for a spec: its text, its names, what it takes and refuses. */

import assert from "node:assert/strict";
import ts from "typescript";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { compileSpec } from "../../../../src/domain/spec/compile.ts";
import { isInterfaceName, writeTypes } from "../../../../src/domain/spec/shapes/write_types.ts";
import { compileTypes } from "../../../support/compile_types.ts";

const LINE = {
  title: "One line",
  type: "object",
  properties: { sku: { type: "string" }, qty: { type: "integer" } },
  required: ["sku", "qty"],
  additionalProperties: false,
};

const SHOP: JsonObject = {
  agent_types: ["user", "admin"],
  target_types: ["customer"],
  title: "A small shop",
  aggregate_types: {
    order: {
      title: "An order",
      description: "From the first line\nto the parcel.",
      events: {
        was_placed: {
          description: "The customer has paid.",
          schema: {
            type: "object",
            properties: {
              customer: { type: "string", description: "Who pays" },
              lines: { type: "array", items: { $ref: "#/$defs/line" } },
              "odd key": { type: ["string", "null"] },
              payment: { enum: ["card", "cash"] },
            },
            required: ["customer", "lines", "payment"],
            additionalProperties: false,
            $defs: { line: LINE },
          },
          handler: [
            { merge: { target: "", value: "$.data" } },
            { set: { target: "status", value: "placed" } },
          ],
        },
        was_noted: {
          schema: { properties: { text: { type: "string" } } },
          handler: {
            append: { target: "notes", value: { text: "$.data.text", by: "$.metadata.actor.id" } },
          },
        },
        was_shipped: {
          schema: { type: "object", additionalProperties: false },
          handler: [
            { set: { target: "status", value: "shipped" } },
            { increment: { target: "parcels" } },
          ],
        },
        _was_tombstoned: { handler: { set: { target: "gone", value: true } } },
      },
    },
  },
};

const SHOP_TYPES =
  `// Written by \`daybook types\` from the spec. Change the spec, then write it again.
// deno-fmt-ignore-file
// deno-lint-ignore-file
/* eslint-disable */

/**
 * An order
 *
 * From the first line
 * to the parcel.
 */
export interface OrderState {
  /** Who pays */
  readonly customer?: string;
  readonly lines?: readonly OrderWasPlacedLine[];
  readonly "odd key"?: string | null;
  readonly payment?: "card" | "cash";
  readonly status?: "placed" | "shipped";
  readonly notes?: readonly {
    readonly text: string | null;
    readonly by: string;
  }[];
  readonly parcels?: number;
  readonly gone?: true;
}

/** The customer has paid. */
export interface OrderWasPlaced {
  /** Who pays */
  readonly customer: string;
  readonly lines: readonly OrderWasPlacedLine[];
  readonly "odd key"?: string | null;
  readonly payment: "card" | "cash";
}

/** One line */
export interface OrderWasPlacedLine {
  readonly sku: string;
  readonly qty: number;
}

export interface OrderWasNoted {
  readonly text?: string;
  readonly [key: string]: unknown;
}

export interface OrderWasShipped {
  readonly [key: string]: undefined;
}

/** A small shop */
export interface Shop {
  readonly aggregates: {
    readonly order: {
      readonly state: OrderState;
      readonly events: {
        readonly was_placed: OrderWasPlaced;
        readonly was_noted: OrderWasNoted;
        readonly was_shipped: OrderWasShipped;
      };
    };
  };
  readonly actors: "user" | "admin";
  readonly targets: "customer";
}
`;

function checked(spec: JsonObject): JsonObject {
  const compiled = compileSpec(spec);
  assert(compiled.ok, JSON.stringify(compiled));
  return spec;
}

/** A spec with one aggregate type `a`, whose event types have these schemas. */
function specOf(schemas: Readonly<Record<string, JsonValue>>, more: JsonObject = {}): JsonObject {
  const events = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { schema, handler: [] }]),
  );
  return checked({ agent_types: ["user"], aggregate_types: { a: { events, ...more } } });
}

/** The faults of a program that uses the types, by line of `text`. */
function faultsOf(spec: JsonObject, text: string): string[] {
  const { faults } = compileTypes({
    "/memory/types.ts": writeTypes(spec, "Shop"),
    "/memory/use.ts": `import type * as T from "./types.ts";\n${text}`,
  });
  return faults.map((fault) => fault.replace(/: .*/s, ""));
}

Deno.test("writeTypes() writes plain interfaces with what the spec says about them", () => {
  assert.equal(writeTypes(checked(SHOP), "Shop"), SHOP_TYPES);
  assert.deepEqual(compileTypes({ "/memory/types.ts": SHOP_TYPES }).faults, []);
});

Deno.test("the same spec gives the same text, also after a way through JSON", () => {
  const copy = JSON.parse(JSON.stringify(SHOP));
  assert.equal(writeTypes(copy, "Shop"), writeTypes(SHOP, "Shop"));
});

Deno.test("the types have the form that a client is made with", () => {
  const faults = faultsOf(
    SHOP,
    `import type { ClientTypes } from "${
      new URL("../../../../sdk/src/core/client_types.ts", import.meta.url).pathname
    }";
export type Checked<Types extends ClientTypes> = Types;
export type Shop = Checked<T.Shop>;`,
  );
  assert.deepEqual(faults, []);
});

Deno.test("types of closed schemas refuse what the server would refuse", () => {
  const good = `{ customer: "c", lines: [{ sku: "TEA", qty: 1 }], payment: "card" }`;
  const use = [
    `export const ok: T.OrderWasPlaced = ${good};`,
    `export const typo: T.OrderWasPlaced = { costumer: "c", lines: [], payment: "card" };`,
    `export const missing: T.OrderWasPlaced = { customer: "c", lines: [] };`,
    `export const type: T.OrderWasPlaced = { customer: 1, lines: [], payment: "card" };`,
    `export const choice: T.OrderWasPlaced = { customer: "c", lines: [], payment: "gold" };`,
    `export const nested: T.OrderWasPlaced = { customer: "c", lines: [{ sku: 1, qty: 1 }], payment: "card" };`,
    `export const none: T.OrderWasShipped = {};`,
    `export const some: T.OrderWasShipped = { parcel: 1 };`,
    `export const open: T.OrderWasNoted = { text: "t", further: [1] };`,
    `export const wrong: T.OrderWasNoted = { text: 1 };`,
    `export function status(state: T.OrderState): "placed" | "shipped" | undefined { return state.status; }`,
    `export function lost(state: T.OrderState) { return state.statos; }`,
    `export function write(state: T.OrderState) { state.parcels = 1; }`,
  ];
  const refused = [2, 3, 4, 5, 6, 8, 10, 12, 13].map((index) => `/memory/use.ts:${index + 1}`);
  assert.deepEqual(faultsOf(SHOP, use.join("\n")), refused);
});

Deno.test("alternatives narrow by the field that tells them apart, with their names", () => {
  const form = (kind: string, extra: JsonObject) => ({
    type: "object",
    properties: { kind: { const: kind }, ...extra },
    required: ["kind", ...Object.keys(extra)],
    additionalProperties: false,
  });
  const spec = specOf({
    was_paid: {
      type: "object",
      properties: { by: { oneOf: [{ $ref: "#/$defs/card" }, { $ref: "#/$defs/cash" }] } },
      required: ["by"],
      additionalProperties: false,
      $defs: { card: form("card", { last4: { type: "string" } }), cash: form("cash", {}) },
    },
  });
  assert.match(writeTypes(spec, "Shop"), /readonly by: AWasPaidCard \| AWasPaidCash;/);
  const use = [
    `export function a(d: T.AWasPaid) { return d.by.kind === "card" ? d.by.last4 : ""; }`,
    `export function b(d: T.AWasPaid) { return d.by.kind === "cash" ? d.by.last4 : ""; }`,
  ];
  assert.deepEqual(faultsOf(spec, use.join("\n")), ["/memory/use.ts:3"]);
});

Deno.test("schemas that contain themselves become types that name themselves", () => {
  const spec = specOf({
    was_grown: {
      type: "object",
      properties: { tree: { $ref: "#/$defs/tree" }, again: { $ref: "#" } },
      additionalProperties: false,
      $defs: {
        tree: {
          type: "object",
          properties: { kids: { type: "array", items: { $ref: "#/$defs/tree" } } },
          additionalProperties: false,
        },
      },
    },
  });
  const text = writeTypes(spec, "Shop");
  assert.match(text, /readonly again\?: AWasGrown;/);
  assert.match(
    text,
    /interface AWasGrownTree \{\n {2}readonly kids\?: readonly AWasGrownTree\[\];/,
  );
  const use =
    `export const t: T.AWasGrown = { tree: { kids: [{ kids: [] }] }, again: { again: {} } };
export const f: T.AWasGrown = { tree: { kids: [{ kid: [] }] } };`;
  assert.deepEqual(faultsOf(spec, use), ["/memory/use.ts:3"]);
});

/** Texts that would leave a comment or a string if nobody kept them in. */
const HOSTILE = [
  "*/ export const evil = 1; /*",
  "**/ throw 1",
  "* / \\*/ \\",
  'x"; export const evil = "',
  "x`${evil}",
  "a\nexport const evil = 1;",
  "a\r\nb\u2028export const evil = 1\u2029c",
  "@ts-ignore",
  "@ts-expect-error",
  "// @ts-nocheck",
  "\u202etxet\u0000\u0007",
  "\ud800 lone",
  "__proto__",
  "",
];

Deno.test("no text of a spec leaves its comment or its quotes", () => {
  for (const text of HOSTILE) {
    const spec = specOf({
      was_done: {
        title: text,
        description: text,
        type: "object",
        properties: Object.fromEntries([[text, { const: text, title: text, description: text }]]),
        required: [text],
        additionalProperties: false,
      },
    }, { title: text, description: text });
    const types = writeTypes({ ...spec, title: text }, "Shop");
    assert.equal(types, types.toWellFormed());
    const tree = ts.createSourceFile("types.ts", types, ts.ScriptTarget.ES2022, true);
    const kinds = tree.statements.map((statement) =>
      ts.isInterfaceDeclaration(statement) ? statement.name.text : "another statement"
    );
    assert.deepEqual(kinds, ["AState", "AWasDone", "Shop"], text);
    const quoted = JSON.stringify(text).replaceAll("\u2028", "\\u2028").replaceAll(
      "\u2029",
      "\\u2029",
    );
    const use = `export const d: T.AWasDone = { [${quoted}]: ${quoted} };
export const e: T.AWasDone = { [${quoted}]: 1 };`;
    assert.deepEqual(faultsOf(spec, use), ["/memory/use.ts:3"], text);
  }
});

Deno.test("names that meet are told apart", () => {
  const events = { placed: { schema: true, handler: [] }, state: { schema: true, handler: [] } };
  const spec = checked({
    agent_types: ["user"],
    aggregate_types: {
      order: { events: { ...events, was_placed: { schema: true, handler: [] } } },
      order_was: { events },
      order__was: { events },
    },
  });
  const names = [...writeTypes(spec, "OrderState").matchAll(/^export interface (\S+)/gm)]
    .map(([, name]) => name!);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(names.filter((name) => /^OrderState/.test(name)).sort(), [
    "OrderState",
    "OrderState2",
    "OrderState3",
  ]);
  assert.deepEqual(compileTypes({ "/memory/types.ts": writeTypes(spec, "OrderState") }).faults, []);
});

Deno.test("isInterfaceName() takes what TypeScript takes as the name of an interface", () => {
  for (const name of ["Shop", "shop", "_1", "$", "Record"]) assert(isInterfaceName(name), name);
  for (const name of ["", "1a", "a-b", "a b", "class", "any", "unknown", "Shop;", "é"]) {
    assert(!isInterfaceName(name), name);
  }
});

Deno.test("a module that decides a state leaves it unknown", () => {
  const spec: JsonObject = {
    agent_types: ["user"],
    aggregate_types: {
      a: {
        events: {
          was_done: { schema: true, handler: { wasm: { blob: "b", function: "f" } } },
          was_counted: { schema: true, handler: { increment: { target: "n" } } },
        },
      },
    },
  };
  assert.match(
    writeTypes(spec, "Shop"),
    /interface AState \{\n {2}readonly \[key: string\]: unknown;\n\}/,
  );
});

Deno.test("a schema that nothing fits, and a type without events, have types too", () => {
  const spec = checked({
    agent_types: ["user"],
    aggregate_types: {
      a: {
        events: {
          was_done: { schema: false, handler: [] },
          was_not: { schema: { type: "string" }, handler: [] },
        },
      },
      b: { events: {} },
    },
  });
  assert.deepEqual(compileTypes({ "/memory/types.ts": writeTypes(spec, "Shop") }).faults, []);
});
