/**
 * The rows about types: how long the compiler takes for a program that uses the types of 200 event
 * types, written by `daybook types` or by `defineSpec`, with everything that it reads.
 */

import ts from "typescript";
import type { JsonObject } from "../../src/domain/json.ts";
import { writeTypes } from "../../src/domain/spec/shapes/write_types.ts";
import { compileTypes } from "../../tests/support/compile_types.ts";
import type { Row } from "./table.ts";

const EVENT_TYPES = 200;
const RUNS = 3;
const GOAL_MS = 2_000;
const CORE = new URL("../../sdk/src/core/", import.meta.url).pathname;

/** Operations of which each handler has one. */
const CHANGES: readonly JsonObject[] = [
  { set: { target: "address.city", value: "$.data.address.city" } },
  { set: { target: "lines", value: "$.data.lines" } },
  { append: { target: "notes", value: { text: "$.data.note", at: "$.metadata.timestamp" } } },
  { increment_at: { target: "counts", key: "$.data.customer" } },
];

/** Event types with the parts that are usual: fields, lines, totals, a status. */
function eventType(index: number): JsonObject {
  const line = {
    type: "object",
    properties: { sku: { type: "string" }, qty: { type: "integer" }, price: { type: "number" } },
    required: ["sku", "qty"],
    additionalProperties: false,
  };
  return {
    schema: {
      type: "object",
      properties: {
        customer: { type: "string" },
        note: { type: "string" },
        kind: { enum: ["card", "cash", `kind_${index}`] },
        address: {
          type: "object",
          properties: { city: { type: "string" }, zip: { type: "string" } },
          required: ["city"],
          additionalProperties: false,
        },
        lines: { type: "array", items: { $ref: "#/$defs/line" } },
        [`field_${index}`]: { type: ["number", "null"] },
      },
      required: ["customer", "lines"],
      additionalProperties: false,
      $defs: { line },
    },
    handler: [
      { set: { target: "status", value: `status_${index}` } },
      { set: { target: `field_${index}`, value: `$.data.field_${index}?` } },
      CHANGES[index % CHANGES.length]!,
    ],
  };
}

function specOf(aggregateTypes: number): JsonObject {
  const types = Array.from({ length: aggregateTypes }, (_, type) => {
    const events = Array.from({ length: EVENT_TYPES / aggregateTypes }, (_, event) => [
      `event_${event}`,
      eventType(type * 1_000 + event),
    ]);
    return [`type_${type}`, { events: Object.fromEntries(events) }];
  });
  return { agent_types: ["user"], aggregate_types: Object.fromEntries(types) };
}

/** A program that writes each event and reads each state once. */
function useOf(spec: JsonObject, importTypes: string): string {
  const lines = [importTypes, `import { createClient } from "${CORE}mod.ts";`];
  lines.push(`const db = createClient<Shop>({ url: "http://localhost", key: "" });`);
  for (const [type, definition] of Object.entries(spec.aggregate_types as JsonObject)) {
    lines.push(`const ${type} = db.${type}("main");`);
    lines.push(`export const state_${type} = await ${type}.get().orThrow();`);
    lines.push(`export const status_${type}: string | undefined = state_${type}.data.status;`);
    for (const event of Object.keys((definition as { events: JsonObject }).events)) {
      lines.push(`await ${type}.${event}({ customer: "c", lines: [{ sku: "s", qty: 1 }] });`);
    }
  }
  return lines.join("\n");
}

function filesOf(spec: JsonObject, way: "written" | "defined"): Record<string, string> {
  if (way === "written") {
    return {
      "/memory/types.ts": writeTypes(spec, "Shop"),
      "/memory/use.ts": useOf(spec, `import type { Shop } from "./types.ts";`),
    };
  }
  return {
    "/memory/types.ts": [
      `import { defineSpec, type TypesOf } from "${CORE}mod.ts";`,
      `export const spec = defineSpec(${JSON.stringify(spec)});`,
      "export type Shop = TypesOf<typeof spec>;",
    ].join("\n"),
    "/memory/use.ts": useOf(spec, `import type { Shop } from "./types.ts";`),
  };
}

/** The best of several runs, after one that reads the compiler's own libraries. */
function millisecondsOf(files: Record<string, string>): number {
  let best = Infinity;
  for (let run = 0; run <= RUNS; run++) {
    const from = performance.now();
    const { faults } = compileTypes(files);
    const took = performance.now() - from;
    if (faults.length > 0) throw new Error(faults.slice(0, 3).join("\n"));
    if (run > 0) best = Math.min(best, took);
  }
  return best;
}

export function measureTypes(add: (row: Row) => void): void {
  const empty = { "/memory/empty.ts": `import "${CORE}mod.ts";` };
  const note = `TypeScript ${ts.version}`;
  add({ name: "compiling the client alone", value: millisecondsOf(empty), unit: "ms", note });
  for (const way of ["written", "defined"] as const) {
    for (const types of [10, 1]) {
      const value = millisecondsOf(filesOf(specOf(types), way));
      const about = types === 1 ? "one aggregate type" : `${types} aggregate types`;
      const name = `${EVENT_TYPES} event types of ${about}, ${way}`;
      add({ name, value, unit: "ms", target: { below: GOAL_MS } });
    }
  }
}
