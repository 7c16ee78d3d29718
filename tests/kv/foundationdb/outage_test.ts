/**
 * The FoundationDB engine while a real cluster is away: what it reports, and what is stored
 * then.
 */

import assert from "node:assert/strict";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { bytes, counter, write } from "../../contract/engine_fixture.ts";
import { foundationdbCluster } from "../../support/foundationdb_cluster.ts";

const cluster = foundationdbCluster({ ownOnly: true });
const ignore = cluster.missing !== undefined;
if (ignore) console.log(`SKIPPED: outages of FoundationDB: ${cluster.missing}`);

function test(what: string, body: (engine: Engine) => Promise<void>): void {
  Deno.test({
    name: `foundationdb: ${what}`,
    ignore,
    async fn() {
      const { engine, dispose } = await cluster.open();
      try {
        await body(engine);
      } finally {
        cluster.pause(false);
        await dispose();
      }
    },
  });
}

test("a cluster that is away is EngineUnavailable within five seconds, until it is back", async (engine) => {
  await write(engine, "a=1");
  cluster.pause(true);
  const startedMs = performance.now();
  const watch = engine.watch(bytes("a"));
  const calls = [
    engine.transact((tx) => (tx.add(bytes("n"), 1n), Promise.resolve())),
    engine.transact((tx) => tx.get(bytes("a"))),
    engine.snapshot((tx) => tx.get(bytes("a"))),
  ];
  await Promise.all(calls.map((call) => assert.rejects(call, EngineUnavailable)));
  assert.ok(performance.now() - startedMs < 5000);
  cluster.pause(false);
  await untilBack(engine);
  assert.deepEqual(await engine.snapshot((tx) => tx.get(bytes("a"))), bytes("1"));
  assert.equal(await watch.changed, true);
});

test("keyed writes repeated through outages each count once", async (engine) => {
  let isOver = false;
  let written = 0;
  async function writeOn(writer: number): Promise<void> {
    for (let i = 0; !isOver; i++) {
      const key = bytes(`ledger ${writer} ${i}`);
      await repeatUntilKnown(() =>
        engine.transact(async (tx) => {
          if (await tx.get(key) !== undefined) return;
          tx.set(key, bytes("done"));
          tx.add(bytes("n"), 1n);
        })
      );
      written++;
    }
  }
  const writers = Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(writeOn));
  await pauseClusterFor(300, 2500, 6000);
  isOver = true;
  await writers;
  const count = await engine.snapshot((tx) => tx.get(bytes("n")));
  assert.deepEqual(count, counter(BigInt(written)));
});

test("unkeyed writes that were answered are there once; others at most once", async (engine) => {
  let isOver = false;
  let known = 0;
  let unknown = 0;
  async function writeOn(): Promise<void> {
    while (!isOver) {
      try {
        await engine.transact((tx) => (tx.add(bytes("n"), 1n), Promise.resolve()));
        known++;
      } catch (error) {
        assert.ok(error instanceof EngineUnavailable);
        unknown++;
      }
    }
  }
  const writers = Promise.all(Array.from({ length: 16 }, writeOn));
  await pauseClusterFor(3000, 5000);
  isOver = true;
  await writers;
  const count = await engine.snapshot((tx) => tx.get(bytes("n")));
  const landed = Number(new DataView(count!.buffer).getBigInt64(0, true));
  assert.ok(landed >= known && landed <= known + unknown, `${landed}, ${known}, ${unknown}`);
});

/** Pauses the cluster once for each duration, with some work before, between and after. */
async function pauseClusterFor(...pausesMs: number[]): Promise<void> {
  for (const pauseMs of pausesMs) {
    await sleep(300);
    cluster.pause(true);
    await sleep(pauseMs);
    cluster.pause(false);
  }
  await sleep(1000);
}

async function untilBack(engine: Engine): Promise<void> {
  await repeatUntilKnown(() => write(engine, "back=1"));
}

async function repeatUntilKnown(call: () => Promise<void>): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof EngineUnavailable)) throw error;
    }
  }
  throw new Error("The cluster did not come back");
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
