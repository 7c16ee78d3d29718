/**
 * One trace gives byte-identical replies, chain tips and folded states on every engine. One
 * engine is closed and reopened again and again, one loses replies and runs into conflicts.
 * Every run uses a new seed; `DIFFERENTIAL_SEED` repeats one, `DIFFERENTIAL_OPERATIONS` makes
 * it longer.
 */

import assert from "node:assert/strict";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Transaction } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
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

/**
 * Returns the difference that ends the run when the second engine loses the sets of one
 * transaction that `loses` selects.
 */
async function runLosing(loses: (transaction: number, key: Bytes) => boolean): Promise<string> {
  let transactions = 0;
  let lostIn: number | undefined;
  const losing = await sqliteStore((engine) =>
    wrapEngine(engine, {
      transact: (body) =>
        engine.transact((tx) => {
          const number = transactions++;
          return body(settingThrough(tx, (key, value) => {
            if ((lostIn ?? number) !== number || !loses(number, key)) return tx.set(key, value);
            lostIn = number;
          }));
        }),
    })
  );
  const run = runDifferential({ operations: 400, seed: 7 }, [
    { name: "whole", store: await sqliteStore() },
    { name: "losing", store: losing },
  ]);
  const error = await run.then(() => undefined, (error: unknown) => error);
  assert.ok(lostIn !== undefined, "something was lost");
  assert.ok(error instanceof Difference, String(error));
  assert.match(error.message, /--- whole\n.*--- losing\n/s);
  return error.message;
}

function settingThrough(tx: Transaction, set: Transaction["set"]): Transaction {
  return new Proxy(tx, {
    get(target, name) {
      if (name === "set") return set;
      const member = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

Deno.test("an engine that loses one commit is found, with the first reply that shows it", async () => {
  const message = await runLosing((transaction) => transaction >= 70);
  assert.match(message, /^operation \d+: .* differs\n\{"kind":"request".*\nfirst diff/);
});

Deno.test("an engine that loses what no reply tells of is found in the store", async () => {
  const lost = keys.platformAnchor(1).toHex();
  const message = await runLosing((_, key) => key.toHex() === lost);
  assert.match(message, /^after the trace: value of \[0,"platform_anchor",1\] differs\n/);
});
