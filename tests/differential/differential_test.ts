/**
 * The same trace gives byte-identical replies, chain tips and folded states whatever is below the
 * product: an engine that is closed and opened again and again, one that loses replies and runs
 * into conflicts. Every run takes a new seed; `DIFFERENTIAL_SEED` repeats one,
 * `DIFFERENTIAL_OPERATIONS` makes it longer.
 */

import assert from "node:assert/strict";
import { Difference } from "./compare.ts";
import { hiddenFaults } from "./faults.ts";
import { describeRun, runDifferential } from "./run.ts";
import { sqliteStore } from "./sqlite_store.ts";
import { sqliteSubjects } from "./sqlite_subjects.ts";

const operations = Number(Deno.env.get("DIFFERENTIAL_OPERATIONS") ?? 3_000);

Deno.test("a trace leaves and answers the same on an engine that restarts and on one with faults", async () => {
  const seed = Number(Deno.env.get("DIFFERENTIAL_SEED") ?? Math.floor(Math.random() * 2 ** 31));
  console.log(
    `differential seed ${seed}: repeat with DIFFERENTIAL_SEED=${seed} ` +
      `DIFFERENTIAL_OPERATIONS=${operations}`,
  );
  const faults = hiddenFaults(seed);
  const subjects = await sqliteSubjects(faults);
  const report = await runDifferential({ operations, seed }, subjects);
  console.log(describeRun(report));
  assert.deepEqual(report.gaps, [], `seed ${seed}`);
  for (const [kind, count] of Object.entries(faults.counts)) {
    assert.ok(count >= operations / 50, `${count} faults of kind ${kind}`);
  }
});

Deno.test("an engine that passes over one commit is found, with the first reply that shows it", async () => {
  let commits = 0;
  const dropping = await sqliteStore((engine) => ({
    transact: async (body) => {
      if (++commits !== 60) return await engine.transact(body);
      return await engine.transact((tx) => body({ ...tx, set: () => {} }));
    },
    snapshot: (body) => engine.snapshot(body),
    watch: (key) => engine.watch(key),
    close: () => engine.close(),
  }));
  const run = runDifferential({ operations: 400, seed: 7 }, [
    { name: "whole", store: await sqliteStore() },
    { name: "dropping", store: dropping },
  ]);
  await assert.rejects(run, (error) => {
    assert.ok(error instanceof Difference);
    assert.match(error.message, /^operation \d+: .* differs\n\{"kind":"request".*\nfirst diff/);
    assert.match(error.message, /--- whole\n.*--- dropping\n/s);
    return true;
  });
});
