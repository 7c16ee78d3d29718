/** A buffer matches a plain list of the same writes, at every moment between them. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesOf, textOf, type TextRange } from "../../../src/kv/byte_text.ts";
import type { Bytes } from "../../../src/kv/engine.ts";
import { hashOf } from "../../../src/kv/key_map.ts";
import * as own from "../../../src/kv/transaction/buffered_transaction.ts";

/** What a buffer must say about each key: removed, a value, or an addition to the value below. */
type Word = { readonly value?: bigint; readonly delta?: bigint };

const texts = ["", "a", "a\0", "a\xff", "aa", "ab", "b", "ba", "\xfe", ..."cdefghijklmnop"];
const anyText = fc.constantFrom(...texts);
const anyRange = fc.tuple(anyText, anyText).map(([begin, end]): TextRange => ({ begin, end }));
const anyStep = fc.oneof(
  fc.record({ does: fc.constant("set" as const), text: anyText, value: fc.bigInt(0n, 99n) }),
  fc.record({ does: fc.constant("clear" as const), text: anyText }),
  fc.record({ does: fc.constant("add" as const), text: anyText, delta: fc.bigInt(-9n, 9n) }),
  fc.record({ does: fc.constant("clear range" as const), range: anyRange }),
  fc.record({ does: fc.constant("look" as const), range: anyRange }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer T> ? T : never;

function counter(value: bigint): Bytes {
  return own.addToCounter(undefined, value);
}

function isIn(text: string, { begin, end }: TextRange): boolean {
  return begin <= text && text < end;
}

function apply(buffer: own.WriteBuffer, step: Step): void {
  if (step.does === "set") own.putWrite(buffer, bytesOf(step.text), counter(step.value));
  else if (step.does === "clear") own.putWrite(buffer, bytesOf(step.text), undefined);
  else if (step.does === "add") own.addWrite(buffer, bytesOf(step.text), step.delta);
  else if (step.does === "clear range") own.clearWrites(buffer, step.range);
}

function applyToModel(model: Map<string, Word>, cleared: Set<string>, step: Step): void {
  if (step.does === "set") model.set(step.text, { value: step.value });
  else if (step.does === "clear") model.set(step.text, {});
  else if (step.does === "add") {
    const before = model.get(step.text);
    if (before?.delta !== undefined) model.set(step.text, { delta: before.delta + step.delta });
    else if (before === undefined && !cleared.has(step.text)) {
      model.set(step.text, { delta: step.delta });
    } else model.set(step.text, { value: (before?.value ?? 0n) + step.delta });
  } else if (step.does === "clear range") {
    for (const text of texts.filter((text) => isIn(text, step.range))) {
      model.delete(text);
      cleared.add(text);
    }
  }
}

function wordOf({ value, delta }: own.Write): Word {
  if (delta !== undefined) return { delta };
  return value === undefined
    ? {}
    : { value: new DataView(value.slice().buffer).getBigInt64(0, true) };
}

Deno.test("a buffer knows of each key what was written last, and of each range what is its own", () => {
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const buffer = own.emptyWriteBuffer();
      const model = new Map<string, Word>();
      const cleared = new Set<string>();
      for (const step of steps) {
        apply(buffer, step);
        applyToModel(model, cleared, step);
        if (step.does !== "look") continue;
        const within = own.writesWithin(buffer, step.range);
        assert.deepEqual(
          within.map((write) => [textOf(write.key), wordOf(write)]),
          [...model].filter(([text]) => isIn(text, step.range)).sort(([a], [b]) => a < b ? -1 : 1),
        );
        const parts = own.unownedParts(buffer, step.range);
        for (const text of texts.filter((text) => isIn(text, step.range))) {
          const word = model.get(text);
          const isOwn = word === undefined ? cleared.has(text) : word.delta === undefined;
          // A key that was cleared with its range and then added to is a value.
          assert.equal(!isOwn, parts.some((part) => isIn(text, part)), JSON.stringify(text));
        }
      }
      for (const text of texts) {
        const key = bytesOf(text);
        const write = own.findWrite(buffer, key, hashOf(key));
        assert.deepEqual(write && wordOf(write), model.get(text));
        assert.equal(own.isCleared(buffer, key), cleared.has(text));
      }
    }),
    { numRuns: 1000 },
  );
});

Deno.test("a body that looks at a range after each of many writes finds them in order", () => {
  const buffer = own.emptyWriteBuffer();
  const everything = { begin: "", end: "\xff" };
  const seen: string[] = [];
  for (let number = 0; number < 600; number++) {
    const text = String(number * 7919 % 1009);
    own.putWrite(buffer, bytesOf(text), undefined);
    seen.push(text);
    // Occasionally more keys are added between two looks than are inserted one by one.
    if (number % 5 !== 0 || (number > 200 && number < 400)) continue;
    const within = own.writesWithin(buffer, everything).map(({ key }) => textOf(key));
    assert.deepEqual(within, [...seen].sort());
  }
});
