/**
 * The contract under random load: concurrent transactions match a serial replay. The replay
 * runs them one by one on a plain Map, in the order of their stamps; every read must give what
 * it gave before.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { Engine, KeyValue, Transaction } from "../../src/kv/engine.ts";
import { bytes, counter, type EngineTest, range, show } from "./engine_fixture.ts";

/** Keys are the letters from `b` on; ranges may begin and end beyond them. */
const letters = "bcdefg";
const keyOf = fc.constantFrom(...letters);
const endOf = fc.constantFrom(..."abcdefgh");

type Step =
  | { readonly kind: "get" | "clear" | "add"; readonly key: string }
  | { readonly kind: "set"; readonly key: string; readonly value: string }
  | { readonly kind: "clearRange"; readonly begin: string; readonly end: string }
  | {
    readonly kind: "getRange";
    readonly begin: string;
    readonly end: string;
    readonly reverse: boolean;
    readonly limit: number;
  }
  | { readonly kind: "wait"; readonly turns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("get" as const, "clear" as const), key: keyOf }),
  fc.record({ kind: fc.constantFrom("get" as const, "add" as const), key: keyOf }),
  fc.record({ kind: fc.constant("set" as const), key: keyOf, value: fc.constantFrom("1", "22") }),
  fc.record({ kind: fc.constant("clearRange" as const), begin: endOf, end: endOf }),
  fc.record({
    kind: fc.constant("getRange" as const),
    begin: endOf,
    end: endOf,
    reverse: fc.boolean(),
    limit: fc.constantFrom(1, 2, 3, 100),
  }),
  fc.record({ kind: fc.constant("wait" as const), turns: fc.integer({ min: 1, max: 3 }) }),
);
const schedule = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), {
  minLength: 2,
  maxLength: 8,
});

export function modelContract(test: EngineTest): void {
  test("racing random transactions are as if run one after the other", async (engine) => {
    await fc.assert(
      fc.asyncProperty(schedule, async (transactions) => {
        await engine.transact((tx) => (tx.clearRange(range("a", "z")), Promise.resolve()));
        const reads = await Promise.all(transactions.map((steps, i) => run(engine, steps, i)));
        const model = new Map<string, Uint8Array>();
        for (const index of await commitOrder(engine)) {
          assert.deepEqual(
            reads[index],
            replay(model, transactions[index]!),
            `transaction ${index}`,
          );
        }
        const stored = await engine.snapshot((tx) => tx.getRange(range("a", "h")));
        assert.equal(show(stored), show(modelRange(model, "a", "h")));
      }),
      { numRuns: 150 },
    );
  });
}

/** What the reads of the committed run returned. */
async function run(engine: Engine, steps: readonly Step[], index: number): Promise<string[]> {
  return await engine.transact(async (tx) => {
    const reads: string[] = [];
    for (const one of steps) {
      const seen = await take(tx, one);
      if (seen !== undefined) reads.push(seen);
    }
    tx.setStamped(bytes("log"), bytes(""), bytes(String(index)));
    return reads;
  });
}

async function take(tx: Transaction, one: Step): Promise<string | undefined> {
  switch (one.kind) {
    case "get":
      return String(await tx.get(bytes(one.key)));
    case "getRange":
      return show(await tx.getRange(range(one.begin, one.end), one));
    case "set":
      return void tx.set(bytes(one.key), bytes(one.value));
    case "clear":
      return void tx.clear(bytes(one.key));
    case "clearRange":
      return void tx.clearRange(range(one.begin, one.end));
    case "add":
      return void tx.add(bytes(one.key), 3n);
    case "wait":
      for (let i = 0; i < one.turns; i++) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function commitOrder(engine: Engine): Promise<number[]> {
  const pairs = await engine.snapshot((tx) => tx.getRange(range("log", "loh")));
  return pairs.map(({ value }) => Number(new TextDecoder().decode(value)));
}

function replay(model: Map<string, Uint8Array>, steps: readonly Step[]): string[] {
  const reads: string[] = [];
  for (const one of steps) {
    if (one.kind === "get") reads.push(String(model.get(one.key)));
    else if (one.kind === "set") model.set(one.key, bytes(one.value));
    else if (one.kind === "clear") model.delete(one.key);
    else if (one.kind === "add") model.set(one.key, modelSum(model.get(one.key)));
    else if (one.kind === "clearRange") {
      for (const { key } of modelRange(model, one.begin, one.end)) {
        model.delete(new TextDecoder().decode(key));
      }
    } else if (one.kind === "getRange") {
      const pairs = modelRange(model, one.begin, one.end);
      if (one.reverse) pairs.reverse();
      reads.push(show(pairs.slice(0, one.limit)));
    }
  }
  return reads;
}

function modelRange(model: Map<string, Uint8Array>, begin: string, end: string): KeyValue[] {
  return [...model.keys()].filter((key) => begin <= key && key < end).sort().map((key) => ({
    key: bytes(key),
    value: model.get(key) as KeyValue["value"],
  }));
}

function modelSum(value: Uint8Array | undefined): Uint8Array {
  let sum = 0n;
  for (const [i, byte] of (value ?? []).entries()) if (i < 8) sum += BigInt(byte) << BigInt(8 * i);
  return counter(BigInt.asIntN(64, sum + 3n));
}
