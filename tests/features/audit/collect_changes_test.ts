/** The streams of the first anchor: every stream of the cut, sorted by key. */

import assert from "node:assert/strict";
import {
  collectChanges,
  collectStreams,
  type LongStream,
} from "../../../src/features/audit/collect_changes.ts";
import { encodeEvent } from "../../../src/domain/event.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { indexAggregate } from "../../../src/store/streams/aggregates.ts";
import { openStreams } from "../../../src/store/streams/streams.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TENANT = 1;

function pace(): Promise<void> {
  return Promise.resolve();
}

/** Writes one event to each stream in that epoch. */
async function write(engine: Engine, names: readonly (readonly [string, string])[], epoch: number) {
  for (let from = 0; from < names.length; from += 500) {
    await engine.transact(async (tx) => {
      for (const [type, id] of names.slice(from, from + 500)) {
        const stream = (await openStreams(tx, TENANT, [streamKey(type, id)]))[0]!;
        const texts = { type: "was_noted", dataJson: "{}", metadataJson: "{}" };
        stream.append([encodeEvent({ key: stream.key, ...texts })], 1);
        stream.flush(epoch);
        indexAggregate(tx, TENANT, type, id);
      }
    });
  }
}

async function collect(engine: Engine, cut: number): Promise<string[]> {
  const keys: string[] = [];
  const long: LongStream[] = [];
  for await (const page of collectStreams({ engine, pace, tenant: TENANT, cut }, long)) {
    keys.push(...page.map(({ key }) => key));
  }
  assert.deepEqual(long, []);
  return keys;
}

Deno.test("collectStreams() gives all streams by key, whatever the store has them by", async () => {
  await withTemporaryEngine(async (engine) => {
    const ids = ["main", "global", "\u{1f600}", "\uff00", "a\u{1f600}", "a\uff00", "zz", "\ue000"];
    const names = ["a", "a2", "a_2", "order"].flatMap((type) =>
      ids.map((id) => [type, id] as const)
    );
    await write(engine, names, 0);
    assert.deepEqual(await collect(engine, 0), names.map(([type, id]) => `${type}:${id}`).sort());
  });
});

Deno.test("collectStreams() leaves out what came after the cut, however many pages there are", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = Array.from(
      { length: 1_200 },
      (_, at) => ["order", String(at * 7919).padStart(9, "0")] as const,
    );
    await write(engine, names, 0);
    await write(engine, [["order", "000000001"], ["late", "global"]], 1);
    assert.deepEqual(await collect(engine, 0), names.map(([type, id]) => `${type}:${id}`).sort());
  });
});

Deno.test("collectChanges() gives streams of several epochs by key, and lets others go on in between", async () => {
  await withTemporaryEngine(async (engine) => {
    const epochs = [3_000, 2_000, 1_000].map((count, at) =>
      Array.from({ length: count }, (_, n) => ["order", `${(n * 7919) % 9973}_${at}`] as const)
    );
    const special = ["a\uff00", "a\u{1f600}", "zz"].map((id) => ["order", id] as const);
    for (const [at, names] of epochs.entries()) await write(engine, names, at + 1);
    await write(engine, special, 3);
    let turns = 0;
    const place = { engine, tenant: TENANT, cut: 3 };
    const counting = () => {
      turns++;
      return Promise.resolve();
    };
    const { changes } = await collectChanges({ ...place, pace: counting });
    const names = [...epochs.flat(), ...special].map(([type, id]) => `${type}:${id}`);
    assert.deepEqual(changes.map(({ key }) => key), names.sort());
    // One after each page of marks, and the others while the epochs are put together.
    const pages = Math.floor(names.length / 250) + 1;
    assert.ok(turns >= pages + 4, `${turns} turns, ${pages} of them for pages`);
  });
});
