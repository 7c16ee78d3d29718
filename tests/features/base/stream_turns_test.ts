/** Turns on streams: no two overlap on a stream, and nobody waits forever. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { openStreamTurns } from "../../../src/features/base/stream_turns.ts";

Deno.test("whatever turns are asked for, none overlaps on a name, and all come", async () => {
  const names = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 });
  const wish = fc.record({ names, waits: fc.nat(3), fails: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(wish, { maxLength: 20 }), async (wishes) => {
      const turns = openStreamTurns();
      const held = new Set<string>();
      let done = 0;
      const results = await Promise.allSettled(
        wishes.map(({ names, waits, fails }) =>
          turns.take(names, async () => {
            for (const name of names) {
              assert(!held.has(name), `${name} is held twice`);
              held.add(name);
            }
            for (let wait = 0; wait < waits; wait++) await Promise.resolve();
            for (const name of names) held.delete(name);
            done++;
            if (fails) throw new Error("of the body");
          })
        ),
      );
      assert.equal(done, wishes.length);
      assert.deepEqual(
        results.map(({ status }) => status === "rejected"),
        wishes.map(({ fails }) => fails),
      );
    }),
  );
});
