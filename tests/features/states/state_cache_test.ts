/** Views of states: when they carry a version, and that it tells states apart. */

import assert from "node:assert/strict";
import { EMPTY_STATE, viewOfState } from "../../../src/features/states/state_cache.ts";

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
