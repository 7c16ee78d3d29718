/** What a trace plans for a write happens to that write, whatever else runs beside it. */

import assert from "node:assert/strict";
import type { Engine, TransactOptions } from "../../src/kv/engine.ts";
import { withTemporaryEngine } from "../support/temporary_engine.ts";
import { type Interference, interfering } from "./interference.ts";

const TENANT: TransactOptions = { owner: 7 };

/** An engine whose next write does what `plan` says. */
function planned(inner: Engine, plan: Interference): Engine {
  const plans = [plan];
  return interfering(inner, () => plans.shift());
}

function nothing(): Promise<string> {
  return Promise.resolve("done");
}

Deno.test("a write that is to wait waits, and a transaction of the process beside it does not", async () => {
  await withTemporaryEngine(async (inner) => {
    const reached = Promise.withResolvers<"held">();
    const gate = Promise.withResolvers<void>();
    const engine = planned(inner, {
      kind: "wait",
      reached: () => reached.resolve("held"),
      until: gate.promise,
    });
    const own = await Promise.race([engine.transact(nothing), reached.promise]);
    assert.equal(own, "done", "it is no write, so it is not the one to wait");

    const write = engine.transact(nothing, TENANT);
    assert.equal(await Promise.race([write, reached.promise]), "held");
    assert.equal(await engine.transact(nothing, TENANT), "done", "only one write is to wait");
    gate.resolve();
    assert.equal(await write, "done");
  });
});

Deno.test("a write that is to fail fails, and a transaction of the process before it does not", async () => {
  await withTemporaryEngine(async (inner) => {
    const engine = planned(inner, { kind: "fail", error: new Error("planned") });
    assert.equal(await engine.transact(nothing), "done");
    await assert.rejects(engine.transact(nothing, TENANT), /planned/);
    assert.equal(await engine.transact(nothing, TENANT), "done");
  });
});
