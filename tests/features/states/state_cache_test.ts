/** States in memory, and views of states: when they carry a version, which tells states apart. */

import assert from "node:assert/strict";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import type { FoldedState } from "../../../src/features/states/folded_state.ts";
import {
  EMPTY_STATE,
  openStateCache,
  viewOfState,
} from "../../../src/features/states/state_cache.ts";

const PLACE = { length: 3, generation: 2, createdAt: 10, updatedAt: 30 };

Deno.test("viewOfState() of a short state is the state with its length and times", () => {
  assert.deepEqual(viewOfState("{}", PLACE, "f".repeat(64)), {
    dataJson: "{}",
    length: 3,
    createdAt: 10,
    updatedAt: 30,
  });
  assert.deepEqual(EMPTY_STATE, { dataJson: "{}", length: 0, createdAt: null, updatedAt: null });
});

Deno.test("viewOfState() of a long state has a version that names handlers, generation and length", () => {
  const long = JSON.stringify({ text: "x".repeat(64 * 1024) });
  const others = [
    viewOfState(long, PLACE, "a".repeat(64)),
    viewOfState(long, PLACE, "b".repeat(64)),
    viewOfState(long, { ...PLACE, generation: 3 }, "a".repeat(64)),
    viewOfState(long, { ...PLACE, length: 4 }, "a".repeat(64)),
  ];
  const versions = new Set(others.map(({ version }) => version));
  assert.equal(versions.size, others.length);
  assert.ok(!versions.has(undefined));
});

const STREAM = "order:a" as StreamKey;

function state(length: number, text = ""): FoldedState {
  return {
    length,
    bytes: 100 * length,
    generation: 0,
    stateJson: JSON.stringify({ length, text }),
  };
}

Deno.test("a state may follow one that is in memory, which stays as it was for who has it", () => {
  const cache = openStateCache();
  cache.set(1, STREAM, "f", state(1));
  const first = cache.get(1, STREAM, "f")!;
  assert.equal(cache.follow(first, state(2)), true);
  const second = cache.get(1, STREAM, "f")!;
  assert.deepEqual([first.length, second.length], [1, 2]);
  assert.equal(second.stateJson, state(2).stateJson);
  assert.equal(cache.get(2, STREAM, "f"), undefined);
  assert.equal(cache.get(1, STREAM, "g"), undefined);
});

Deno.test("no state follows one that is not in memory any more", () => {
  const cache = openStateCache();
  assert.equal(cache.follow(undefined, state(2)), false);
  assert.equal(cache.follow(state(1), state(2)), false, "it never was");
  cache.set(1, STREAM, "f", state(1));
  const first = cache.get(1, STREAM, "f")!;
  cache.set(1, STREAM, "g", state(1));
  assert.equal(cache.follow(first, state(2)), false, "one of other handlers came");
  cache.set(1, STREAM, "f", state(1));
  const again = cache.get(1, STREAM, "f")!;
  assert.equal(cache.follow(again, state(2)), true);
  assert.equal(cache.follow(again, state(3)), false, "another one has followed");
  const last = cache.get(1, STREAM, "f")!;
  cache.clear();
  assert.equal(cache.follow(last, state(3)), false, "all were dropped");
  assert.equal(cache.get(1, STREAM, "f"), undefined);
});

Deno.test("a state that needs more room is counted anew", () => {
  const cache = openStateCache();
  cache.set(1, STREAM, "f", state(1));
  const first = cache.get(1, STREAM, "f")!;
  assert.equal(cache.follow(first, state(2, "x".repeat(1_000))), false);
  assert.equal(cache.follow(first, state(2, "x".repeat(10))), true);
});

Deno.test("the states of streams of one name are apart, and the longest unused ones make room", () => {
  const cache = openStateCache();
  const long = "x".repeat(4 * 1024 * 1024);
  for (const tenant of [1, 2]) cache.set(tenant, STREAM, "f", state(tenant));
  assert.deepEqual([1, 2].map((tenant) => cache.get(tenant, STREAM, "f")!.length), [1, 2]);
  for (let number = 0; number < 20; number++) {
    cache.set(3, `order:${number}` as StreamKey, "f", state(number, long));
    assert.equal(cache.get(1, STREAM, "f")?.length, 1, "it is in use");
  }
  const left = Array.from({ length: 20 }, (_, number) => `order:${number}` as StreamKey)
    .filter((stream) => cache.get(3, stream, "f") !== undefined);
  assert.equal(left.length, 11, "48 MiB hold eleven of four and a little");
  assert.equal(left.at(-1), "order:19");
});

Deno.test("a state that is longer than an eighth of the memory is not kept, nor the one before it", () => {
  const cache = openStateCache();
  cache.set(1, STREAM, "f", state(1));
  cache.set(1, STREAM, "f", state(2, "x".repeat(6 * 1024 * 1024)));
  assert.equal(cache.get(1, STREAM, "f"), undefined);
});

/** Puts states of streams 0 to `count` and returns how many of them are left. */
function leftOf(count: number, text: string): number {
  const cache = openStateCache();
  const streams = Array.from({ length: count }, (_, number) => `order:${number}` as StreamKey);
  for (const stream of streams) cache.set(1, stream, "f", state(1, text));
  return streams.filter((stream) => cache.get(1, stream, "f") !== undefined).length;
}

Deno.test("a text with a character beyond Latin-1 counts for two bytes each, so half as many stay", () => {
  const text = "x".repeat(2 * 1024 * 1024);
  assert.equal(leftOf(30, text), 23);
  assert.equal(leftOf(30, `${text}\u20ac`), 11);
});

Deno.test("a small state counts for its entry, too: 48 MiB hold fewer than 72,000", () => {
  const left = leftOf(80_000, "");
  assert.ok(left < 72_000 && left > 60_000, `${left} are left`);
});

Deno.test("a state whose text comes to take two bytes for each character is counted anew", () => {
  const cache = openStateCache();
  cache.set(1, STREAM, "f", state(1, "x".repeat(1_000)));
  const first = cache.get(1, STREAM, "f")!;
  assert.equal(cache.follow(first, state(2, `${"x".repeat(999)}\u20ac`)), false);
});
