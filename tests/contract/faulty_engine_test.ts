/** The faulty engine is a valid engine without faults, and with faults it hides what it may. */

import assert from "node:assert/strict";
import { type Engine, EngineUnavailable } from "../../src/kv/engine.ts";
import { type Fault, type FaultPlan, faultyEngine } from "../support/faulty_engine.ts";
import { temporaryEngine, withTemporaryEngine } from "../support/temporary_engine.ts";
import { engineContract } from "./engine_contract.ts";
import { bytes, counter, read, write } from "./engine_fixture.ts";

engineContract("faulty, without faults", async () => {
  const { engine, dispose } = await temporaryEngine();
  return { engine: faultyEngine(engine), dispose };
});

engineContract("faulty, with a plan that has no fault", async () => {
  const { engine, dispose } = await temporaryEngine();
  return { engine: faultyEngine(engine, () => undefined), dispose };
});

for (const landed of [false, true]) {
  Deno.test(`a lost reply is no second effect (landed: ${landed})`, async () => {
    await withFaults([{ kind: "lose_reply", landed }], async (engine) => {
      let runs = 0;
      const result = await engine.transact((tx) => {
        tx.add(bytes("n"), 1n);
        return Promise.resolve(`run ${++runs}`);
      });
      assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("n"))), counter(1n));
      assert.equal(result, landed ? "run 1" : "run 2");
    });
  });

  Deno.test(`an outage comes out as EngineUnavailable (landed: ${landed})`, async () => {
    await withFaults([{ kind: "unavailable", landed }], async (engine) => {
      await assert.rejects(write(engine, "a=1"), EngineUnavailable);
      assert.equal(await read(engine, "a"), landed ? "1" : undefined);
      await write(engine, "a=2");
      assert.equal(await read(engine, "a"), "2");
    });
  });
}

Deno.test("the result is that of the attempt that landed, of many lost replies", async () => {
  const plan: Fault[] = [false, false, true].map((landed) => ({ kind: "lose_reply", landed }));
  await withFaults(plan, async (engine) => {
    let runs = 0;
    const result = await engine.transact((tx) => {
      tx.add(bytes("n"), 1n);
      return Promise.resolve(++runs);
    });
    assert.equal(result, 3);
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("n"))), counter(1n));
  });
});

Deno.test("replies that are lost for ever end in EngineUnavailable", async () => {
  await withFaults(() => ({ kind: "lose_reply", landed: false }), async (engine) => {
    await assert.rejects(write(engine, "a=1"), EngineUnavailable);
    assert.equal(await read(engine, "a"), undefined);
  });
});

Deno.test("a planned conflict runs the body again so many times", async () => {
  await withFaults([{ kind: "conflict", times: 3 }], async (engine) => {
    let runs = 0;
    await engine.transact((tx) => {
      runs++;
      tx.add(bytes("n"), 1n);
      return Promise.resolve();
    });
    assert.equal(runs, 4);
    assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("n"))), counter(1n));
  });
});

Deno.test("a delayed commit can lose against one that overtook it", async () => {
  await withFaults([{ kind: "delay", milliseconds: 20 }], async (engine) => {
    let runs = 0;
    const slow = engine.transact(async (tx) => {
      runs++;
      await tx.get(bytes("a"));
      tx.set(bytes("b"), bytes("1"));
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await write(engine, "a=1");
    await slow;
    assert.equal(runs, 2);
  });
});

Deno.test("while the store is away every call fails", async () => {
  await withTemporaryEngine(async (inner) => {
    let isAway = true;
    const engine = faultyEngine(inner, [], { isAway: () => isAway });
    await assert.rejects(write(engine, "a=1"), EngineUnavailable);
    await assert.rejects(read(engine, "a"), EngineUnavailable);
    isAway = false;
    await write(engine, "a=1");
  });
});

async function withFaults(plan: FaultPlan, body: (engine: Engine) => Promise<void>): Promise<void> {
  await withTemporaryEngine((inner) => body(faultyEngine(inner, plan)));
}
