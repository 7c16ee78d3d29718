/**
 * The example modules for users, built from source and run like uploaded ones. In every
 * language each gives what the README says, and the same as the rule it was made for.
 */

import fc from "fast-check";
import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { handlerInput, implicationInput } from "../../src/domain/wasm/call_input.ts";
import type { OutputKind } from "../../src/domain/wasm/call_output.ts";
import type { WasmOutcome } from "../../src/domain/wasm/failure.ts";
import type { WasmPool } from "../../src/wasm/pool.ts";
import { fencedBlocks, readText } from "../documentation/markdown.ts";
import { EXAMPLES_README, findExamples } from "../support/wasm/build_example.ts";
import { messageOf, TENANT, upload, withPool } from "../support/wasm/open_pool.ts";

interface PrintedCall {
  readonly entrypoint: string;
  readonly input: JsonObject;
  readonly output: JsonObject;
}

interface Item {
  readonly stock: string;
  readonly quantity: number;
  readonly unit_cents: number;
}

type Call = (entrypoint: string, inputJson: string) => Promise<string>;

const OUTPUTS: Readonly<Record<string, OutputKind>> = {
  apply_handler: "state",
  compute_implications: "actions",
  compute_context: "context",
};
const PRINTED: readonly PrintedCall[] = fencedBlocks(readText(EXAMPLES_README))
  .filter(({ language, text }) => language === "json" && text.startsWith('{"entrypoint"'))
  .map(({ text }) => JSON.parse(text));
const KEY = "order:5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b";
const LIMIT_CENTS = 1_000_000;

for (const example of await findExamples()) {
  const { language, missing } = example;
  if (missing !== undefined) {
    Deno.test({ name: `the example in ${language}: skipped, ${missing}`, ignore: true, fn() {} });
    continue;
  }
  Deno.test(`the example in ${language} is built, accepted, and answers as its README says`, async (t) => {
    const bytes = await example.build();
    await withPool(async (pool) => {
      const check = await pool.checkModule(TENANT, bytes);
      assert(check.ok && check.value.ok, JSON.stringify(check));
      assert.deepEqual(check.value.module.entrypoints.toSorted(), Object.keys(OUTPUTS).toSorted());
      assert(check.value.module.memoryPagesInitial <= 4, "little to wipe before each call");
      const call = await caller(pool, bytes);
      for (const { entrypoint, input, output } of PRINTED) {
        const answer = await call(entrypoint, JSON.stringify(input));
        assert.equal(answer, JSON.stringify(output), entrypoint);
      }
      await t.step("any order, as the rule says", () => checkRule(call));
      await t.step("an event and a state as large as they can be", () => checkLarge(call));
    });
  });
}

Deno.test("the README of the examples has a call of each function, and a refusal", () => {
  const names = new Set(PRINTED.map(({ entrypoint }) => entrypoint));
  assert.deepEqual([...names].toSorted(), Object.keys(OUTPUTS).toSorted());
  assert(PRINTED.some(({ output }) => "error" in output));
});

/** Returns a function that calls the module and gives its output in written form. */
async function caller(pool: WasmPool, bytes: Uint8Array<ArrayBuffer>): Promise<Call> {
  const { module } = await upload(pool, bytes);
  return async (entrypoint, inputJson) => {
    const kind = OUTPUTS[entrypoint]!;
    const target = { module, entrypoint, timeoutMs: 5_000 };
    return outputOf(kind, await pool.call(TENANT, target, kind, inputJson));
  };
}

function outputOf(kind: OutputKind, outcome: WasmOutcome<string>): string {
  if (outcome.ok) {
    const value: JsonValue = JSON.parse(outcome.value);
    const actions = kind === "actions" && (value as JsonValue[]).map((emit) => ({ emit }));
    return JSON.stringify({ [kind]: actions || value });
  }
  assert(outcome.stop.kind === "handler_error", messageOf(outcome));
  return JSON.stringify({ error: outcome.stop.error });
}

async function checkRule(call: Call): Promise<void> {
  const item = fc.record({
    stock: fc.string({ unit: "binary", maxLength: 12 }),
    quantity: fc.integer({ min: 1, max: 1_000 }),
    unit_cents: fc.integer({ min: 0, max: 1_000 }),
  }, { noNullPrototype: true });
  const state = fc.dictionary(name(), fc.jsonValue({ maxDepth: 4 }), { noNullPrototype: true });
  const before = fc.integer({ min: 0, max: LIMIT_CENTS });
  const property = fc.asyncProperty(fc.array(item), state, before, async (items, rest, cents) => {
    const eventJson = JSON.stringify({ key: KEY, type: "t", data: { items }, metadata: {} });
    const given = { ...rest, total_cents: cents } as JsonObject;
    const handled = await call("apply_handler", handlerInput(JSON.stringify(given), eventJson));
    assert.equal(handled, JSON.stringify(expectedState(given, items)));
    const input = implicationInput(eventJson, JSON.stringify(rest));
    assert.equal(await call("compute_implications", input), JSON.stringify(reservations(items)));
    const context = { cents: sumOf(items) };
    assert.equal(await call("compute_context", input), JSON.stringify({ context }));
  });
  await fc.assert(property, { numRuns: 100 });
}

/** Names of fields, both plain ones and ones that JSON has to escape. */
function name(): fc.Arbitrary<string> {
  return fc.string({ unit: "binary", maxLength: 8 }).filter((text) =>
    // A JavaScript object would put "1" before other keys, wherever it is in the text.
    !/^[0-9]+$/.test(text) && text !== "items" && text !== "__proto__"
  );
}

function sumOf(items: readonly Item[]): number {
  return items.reduce((sum, { quantity, unit_cents }) => sum + quantity * unit_cents, 0);
}

function expectedState(state: JsonObject, items: readonly Item[]): JsonValue {
  const total = (state.total_cents as number) + sumOf(items);
  if (total <= LIMIT_CENTS) {
    return { state: { ...state, items: items.length, total_cents: total } };
  }
  return {
    error: {
      type: "order_limit",
      message: "An order may not exceed 10000.00",
      code: "E_ORDER_LIMIT",
      context: { total_cents: total, limit_cents: LIMIT_CENTS },
    },
  };
}

function reservations(items: readonly Item[]): JsonObject {
  const actions = items.map(({ stock, quantity }) => ({
    emit: {
      aggregate_type: "stock",
      id: stock,
      event_type: "was_reserved",
      data: { order: KEY, quantity },
    },
  }));
  return { actions };
}

async function checkLarge(call: Call): Promise<void> {
  const items = Array.from({ length: 1_900 }, (_, index) => ({
    stock: `TEA${String(index).padStart(6, "0")}`,
    quantity: 1,
    unit_cents: index % 100,
  }));
  const eventJson = JSON.stringify({ key: KEY, type: "t", data: { items }, metadata: {} });
  assert(eventJson.length > 90_000 && eventJson.length < 102_400);
  const state = { total_cents: 0, lines: items.flatMap((item) => Array(20).fill(item)) };
  const handled = await call("apply_handler", handlerInput(JSON.stringify(state), eventJson));
  assert.equal(handled, JSON.stringify(expectedState(state, items)));
  const implied = await call("compute_implications", implicationInput(eventJson, "{}"));
  assert.equal(implied, JSON.stringify(reservations(items)));
}
