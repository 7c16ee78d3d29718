/** Snapshots: folded states stored beside their streams. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  loadSnapshot,
  loadSnapshotBytes,
  readSnapshotHeader,
  saveSnapshot as saveState,
  type Saving,
  type SnapshotPlace,
} from "../../../src/store/streams/snapshots.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { stateText } from "../../support/parsed_state.ts";

const stream = streamKey("order", "global");

function snapshot(length: number, characters: number) {
  const stateJson = JSON.stringify({ fill: "é".repeat(characters) });
  return { length, bytes: 100 * length, generation: 0, stateJson };
}

function rest() {
  return undefined;
}

function saveSnapshot(
  engine: Engine,
  place: SnapshotPlace,
  { stateJson: state, ...position }: ReturnType<typeof snapshot>,
  isWanted?: Saving["isWanted"],
): Promise<boolean> {
  return saveState(engine, place, { ...position, state }, { rest, isWanted });
}

function textOf(found: Awaited<ReturnType<typeof loadSnapshot>>): string | undefined {
  return found && stateText("stateJson" in found ? found.stateJson : found.stateUtf8);
}

function read(engine: Engine, foldHash: string) {
  return loadSnapshot(engine, { tenant: 1, stream, foldHash }, { rest });
}

for (const characters of [0, 49_990, 60_000, 3_000_000]) {
  Deno.test(`loadSnapshot() gives back a state of ${2 * characters} bytes`, async () => {
    await withTemporaryEngine(async (engine) => {
      const saved = snapshot(3, characters);
      await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, saved);
      const found = await read(engine, "f1");
      assert.equal(textOf(found), saved.stateJson);
      // A text of millions of characters would be made in one piece.
      assert.equal("stateJson" in found!, characters < 1_000_000);
      assert.deepEqual([found?.length, found?.bytes, found?.generation], [3, 300, 0]);
    });
  });
}

Deno.test("of many large states of an environment, one at a time is loaded, and others meanwhile", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const tenant of [1, 2]) {
      await saveSnapshot(engine, { tenant, stream, foldHash: "f1" }, snapshot(3, 7_000_000));
    }
    const loading = new Map<string, number>();
    const most = { own: 0, all: 0 };
    async function load(tenant: number, name: string) {
      const rest = () => {
        loading.set(name, tenant);
        const own = [...loading.values()].filter((other) => other === tenant).length;
        most.own = Math.max(most.own, own);
        most.all = Math.max(most.all, loading.size);
        return Promise.resolve();
      };
      const found = await loadSnapshot(engine, { tenant, stream, foldHash: "f1" }, { rest });
      loading.delete(name);
      return textOf(found)?.length;
    }
    const tenants = [1, 1, 1, 1, 1, 2];
    const lengths = await Promise.all(tenants.map((tenant, n) => load(tenant, `${n}`)));
    assert.equal(new Set(lengths).size, 1);
    assert.deepEqual(most, { own: 1, all: 2 });
  });
});

Deno.test("loadSnapshot() finds nothing under another fold hash", async () => {
  await withTemporaryEngine(async (engine) => {
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(3, 5));
    assert.equal(await read(engine, "f2"), undefined);
  });
});

Deno.test("saveSnapshot() removes every other snapshot of the stream", async () => {
  await withTemporaryEngine(async (engine) => {
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(3, 200_000));
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f2" }, snapshot(4, 5));
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f2" }, snapshot(9, 5));
    assert.equal(await read(engine, "f1"), undefined);
    assert.equal((await read(engine, "f2"))?.length, 9);
    const left = await engine.snapshot((tx) => tx.getRange(keys.snapshots(1, stream)));
    assert.equal(left.length, 2, "one header and one part");
  });
});

Deno.test("loadSnapshot() takes a snapshot with a missing part for none", async () => {
  await withTemporaryEngine(async (engine) => {
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(3, 200_000));
    const part = keys.snapshotPart(1, stream, "f1", 3, 1);
    await engine.transact((tx) => Promise.resolve(tx.clear(part)));
    assert.equal(await read(engine, "f1"), undefined);
    const header = await engine.snapshot((tx) => readSnapshotHeader(tx, 1, stream, "f1"));
    assert.equal(header?.length, 3);
  });
});

/** Runs `meanwhile` once, between the first two transactions on the engine. */
function interrupted(engine: Engine, meanwhile: () => Promise<unknown>): Engine {
  let calls = 0;
  return wrapEngine(engine, {
    async transact(body) {
      if (calls++ === 1) await meanwhile();
      return await engine.transact(body);
    },
  });
}

Deno.test("loadSnapshot() starts again when a newer one takes its place between two parts", async () => {
  await withTemporaryEngine(async (engine) => {
    const large = 4_000_000;
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(3, large));
    let reads = 0;
    const node: Engine = {
      ...interrupted(engine, () => Promise.resolve()),
      async snapshot(body) {
        if (++reads === 2) {
          await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(4, large));
        }
        return await engine.snapshot(body);
      },
    };
    const found = await loadSnapshot(node, { tenant: 1, stream, foldHash: "f1" }, { rest });
    assert.equal(found?.length, 4);
    assert.equal(textOf(found), snapshot(4, large).stateJson);
  });
});

for (const other of [5, 7, 9]) {
  Deno.test(`saveSnapshot() at 7 leaves a whole one when another node saves at ${other} meanwhile`, async () => {
    await withTemporaryEngine(async (engine) => {
      const large = 2_100_000;
      const node = interrupted(
        engine,
        () => saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(other, large)),
      );
      assert.equal(
        await saveSnapshot(node, { tenant: 1, stream, foldHash: "f1" }, snapshot(7, large)),
        false,
      );
      assert.equal((await read(engine, "f1"))?.length, other);
      const left = await engine.snapshot((tx) => tx.getRange(keys.snapshots(1, stream)));
      assert.equal(left.length, 1 + 43, "one header and the parts it counts");
    });
  });
}

Deno.test("saveSnapshot() does not put an older snapshot in the place of a newer one", async () => {
  await withTemporaryEngine(async (engine) => {
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(9, 5));
    assert.equal(
      await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(8, 5)),
      false,
    );
    assert.equal((await read(engine, "f1"))?.length, 9);
  });
});

Deno.test("saveSnapshot() changes nothing when in the end it is not wanted", async () => {
  await withTemporaryEngine(async (engine) => {
    await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f1" }, snapshot(9, 5));
    const unwanted = () => Promise.resolve(false);
    const large = snapshot(8, 2_100_000);
    assert.equal(
      await saveSnapshot(engine, { tenant: 1, stream, foldHash: "f2" }, large, unwanted),
      false,
    );
    assert.equal((await read(engine, "f1"))?.length, 9);
    const left = await engine.snapshot((tx) => tx.getRange(keys.snapshots(1, stream)));
    assert.equal(left.length, 2);
  });
});

Deno.test("a state given as bytes is stored as its text would be, and is had as either", async () => {
  await withTemporaryEngine(async (engine) => {
    const { stateJson, ...position } = snapshot(3, 3_000_000);
    const place = { tenant: 1, stream, foldHash: "f1" };
    const state = new TextEncoder().encode(stateJson);
    await saveState(engine, place, { ...position, state }, { rest });
    assert.equal(textOf(await loadSnapshot(engine, place, { rest })), stateJson);
    await saveSnapshot(engine, place, { ...snapshot(4, 3_000_000) });
    const loaded = await loadSnapshotBytes(engine, place, { rest });
    assert.deepEqual(loaded?.stateUtf8, state);
    assert.equal(loaded?.length, 4);
  });
});

Deno.test("of a snapshot that is no use, nothing is read but the header", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const characters of [60_000, 3_000_000]) {
      const place = { tenant: 1, stream, foldHash: "f1" };
      await saveSnapshot(engine, place, snapshot(characters, characters));
      let ranges = 0;
      const counted = wrapEngine(engine, {
        snapshot: (body, options) =>
          engine.snapshot(
            (tx) =>
              body({
                ...tx,
                get: tx.get.bind(tx),
                getRange: (...asked) => (ranges++, tx.getRange(...asked)),
              }),
            options,
          ),
      });
      const isUsable = ({ length }: { length: number }) => length <= 5;
      assert.equal(await loadSnapshot(counted, place, { rest, isUsable }), undefined);
      assert.equal(ranges, 0);
      assert.ok(await loadSnapshot(counted, place, { rest, isUsable: () => true }));
      assert.ok(ranges > 0);
    }
  });
});
