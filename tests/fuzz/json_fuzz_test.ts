/**
 * Bodies that are nearly JSON. An accepted body is read as `JSON.parse` reads it and keeps
 * every digit and key that was sent. A refused one has a reason that an independent check
 * confirms.
 */

import assert from "node:assert/strict";
import type { JsonValue } from "../../src/domain/json.ts";
import { parseJsonObject } from "../../src/http/decode/json_text.ts";
import { createRandom } from "../crash/random.ts";
import { mutateJson, mutateText } from "./json_mutations.ts";
import { fuzzRun } from "./seeds.ts";

const BODY: JsonValue = {
  data: {
    text: 'an "escaped" \\ text \u00e9',
    lines: [{ qty: 1, price: 12.5 }],
    big: 123456789012,
  },
  metadata: { actor: { type: "user", id: "global" }, previous_length: 0 },
};
const DEPTH_MAX = 64;

Deno.test("a body is read as JSON.parse reads it, or refused for a reason that is there", () => {
  const { seed, cases } = fuzzRun(25_000);
  const random = createRandom(seed);
  let accepted = 0;
  for (let number = 0; number < cases; number++) {
    const whole = JSON.stringify(random.chance(0.5) ? BODY : mutateJson(random, BODY));
    const text = random.chance(0.8) ? mutateText(random, whole) : whole;
    try {
      if (judge(text)) accepted++;
    } catch (error) {
      throw new Error(`seed ${seed}, case ${number}: ${JSON.stringify(text)}`, { cause: error });
    }
  }
  assert.ok(accepted > cases / 20 && accepted < cases / 2, `${accepted} of ${cases} accepted`);
});

function judge(text: string): boolean {
  const outcome = parseJsonObject(text);
  const parsed = parse(text);
  if (outcome.ok) {
    assert.deepEqual(outcome.value, parsed?.value);
    assert.equal(loss(text, parsed!.value), undefined);
    return true;
  }
  assert.ok(outcome.refusal.kind === "bad_request" && outcome.refusal.message.length > 0);
  if (parsed === undefined) return false;
  const { value } = parsed;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const reason = isObject ? loss(text, value) : "no object";
  assert.notEqual(reason, undefined, `refused without a reason: ${outcome.refusal.message}`);
  return false;
}

function parse(text: string): { readonly value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** What a reader with doubles and unique keys would lose of a valid text. */
function loss(text: string, value: JsonValue): string | undefined {
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  if ((bare.match(/:/g) ?? []).length !== keysOf(value)) return "a key twice";
  if (depthOf(value) > DEPTH_MAX) return "too deep";
  const numbers = bare.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g) ?? [];
  return numbers.find((literal) => !isHeld(literal));
}

/** In exact arithmetic: the literal equals its double, or is a fraction below 2^53. */
function isHeld(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  const [top, bottom] = ratioOf(literal);
  const [keptTop, keptBottom] = ratioOf(JSON.stringify(value));
  if (top * keptBottom === keptTop * bottom) return true;
  return top % bottom !== 0n && (top < 0n ? -top : top) < 2n ** 53n * bottom;
}

/** As good as any smaller one: a number of that many digits is a fraction in any case. */
const LEAST_EXPONENT = -20_000;

function ratioOf(literal: string): readonly [bigint, bigint] {
  const [, mantissa, fraction = "", exponent = "0"] = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
    .exec(literal)!;
  const top = BigInt(mantissa + fraction);
  const shift = top === 0n ? 0 : Math.max(LEAST_EXPONENT, Number(exponent) - fraction.length);
  const scale = 10n ** BigInt(Math.abs(shift));
  return shift < 0 ? [top, scale] : [top * scale, 1n];
}

function keysOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + keysOf(inner), own);
}

function depthOf(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
