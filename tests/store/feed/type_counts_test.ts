/** The counts of many types are moved in parts, with pauses. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { logCommit, type LogEntry } from "../../../src/store/feed/commit_log.ts";
import { moveTypeCounts, readTypeCounts } from "../../../src/store/feed/type_counts.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;
const [COMMITS, TYPES] = [20, 500];

Deno.test("of many types only some are counted in a transaction, with pauses, and all in the end", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let commit = 0; commit < COMMITS; commit++) {
      const entries = Array.from({ length: TYPES }, (_, number): LogEntry => {
        const stream = streamKey(`type_${commit}_${number}`, "main");
        return { kind: "appended", stream, first: 0, count: 2 };
      });
      await engine.transact((tx) => Promise.resolve(logCommit(tx, TENANT, entries)));
    }
    const moves: number[] = [];
    for (let isAtEnd = false; !isAtEnd;) {
      let rests = 0;
      const pieces = { rest: () => void rests++ };
      const moved = await engine.transact((tx) => (rests = 0, moveTypeCounts(tx, TENANT, pieces)));
      ({ isAtEnd } = moved);
      const { size } = moved.added;
      assert.ok(rests >= size / 50, `${rests} pauses, ${size} types`);
      if (size > 0) moves.push(size);
    }
    assert.ok(moves.length > 1 && Math.max(...moves) < COMMITS * TYPES / 2, `${moves}`);
    const counts = await engine.snapshot((tx) => readTypeCounts(tx, TENANT));
    assert.equal(counts.size, COMMITS * TYPES);
    const kinds = new Set(Array.from(counts.values(), (count) => JSON.stringify(count)));
    assert.deepEqual([...kinds], ['{"aggregates":1,"events":2}']);
  });
});
