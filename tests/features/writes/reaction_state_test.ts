/** What the events of a transaction may cancel is read in steps, with rests between them. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import type { Transaction } from "../../../src/kv/engine.ts";
import type { PreparedWrite } from "../../../src/features/writes/prepared_write.ts";
import { readReactionState } from "../../../src/features/writes/reaction_state.ts";
import { keys } from "../../../src/store/keys.ts";
import { uuid } from "../../support/service_fixture.ts";

/** Two reads for each of 32 rules, and one for each of ten streams before. */
const READS_PER_REST = 2 * 32 + 10;
const RULE = { key: keys.cancelRule(1, "thing:a", "was_0", "b"), value: new Uint8Array(0) };

const TYPES = Array.from({ length: 1_000 }, (_, number) => `was_${number}`);

/** Reads the state of writes that cancel, where streams have rules, and rules a record, or none. */
async function readFor(writes: unknown[], hasRules: boolean, hasRecords = false) {
  let nowMs = 0;
  let [reads, sinceRest, most] = [0, 0, 0];
  function note<T>(answer: T): Promise<T> {
    reads++;
    most = Math.max(most, ++sinceRest);
    return Promise.resolve(answer);
  }
  const tx = {
    get: () => note(undefined),
    getRange: (_: unknown, { limit }: { limit: number }) =>
      note(hasRecords || (hasRules && limit === 1) ? [RULE] : []),
  } as unknown as Transaction;
  const turns = {
    monotonicMs: () => nowMs += 10,
    yieldTurn() {
      sinceRest = 0;
      return Promise.resolve();
    },
  };
  const cancels = new Set(TYPES.map((type) => `thing.${type}`));
  const watched = { read: () => Promise.resolve({ cancels, sagas: new Set() }) };
  const reading = { watched: watched as never, turns };
  const state = await readReactionState(tx, 1, writes as PreparedWrite[], reading);
  return { state, reads, most };
}

function writeTo(streams: number): unknown {
  const events = TYPES.map((type) => ({ type }));
  const targets = Array.from({ length: streams }, (_, number) => (
    { key: `thing:${uuid(number)}`, aggregateType: "thing", events }
  ));
  return { targets };
}

Deno.test("the rules of ten thousand events are read with rests between them", async () => {
  const { state, reads, most } = await readFor([writeTo(10)], true);
  assert.equal(state.pending.size, 10_000);
  assert.equal(reads, 10 + 2 * 10_000);
  assert.ok(most <= READS_PER_REST, `${most} reads in one piece`);
});

Deno.test("of a stream without rules nothing is read for each of its events", async () => {
  const { state, reads } = await readFor([writeTo(10)], false);
  assert.equal(state.pending.size, 10_000);
  assert.equal(reads, 10);
});

Deno.test("the marks of many scheduled events are read with rests between them", async () => {
  const schedules = Array.from({ length: 630 }, (_, number) => ({
    cancelOn: TYPES.slice(0, 20).map((eventType) => ({
      key: `thing:${uuid(number)}`,
      eventType,
    })),
  }));
  const reactions = new Map([[0, { entries: [], schedules }]]);
  const target = { key: `thing:${uuid(1)}`, aggregateType: "thing", events: [], reactions };
  const { state, reads, most } = await readFor([{ targets: [target] }], false);
  assert.deepEqual([reads, state.marks.size], [12_600, 12_600]);
  assert.ok(most <= READS_PER_REST, `${most} reads in one piece`);
});

Deno.test("once a write cancels as many records as it may one by one, no more are read", async () => {
  const { state, reads } = await readFor([writeTo(10)], true, true);
  const marked = [...state.pending.values()].filter((records) => records === undefined);
  // A step may read eight more for each of its rules.
  const most = limits.cancelledOneByOneMax + 8 * 32;
  assert.ok(marked.length >= 10_000 - most, `${marked.length} are cancelled by marks`);
  assert.ok(reads <= 10 + 2 * 10_000 + 2 * most, `${reads} reads`);
});
