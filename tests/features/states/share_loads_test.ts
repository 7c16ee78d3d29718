/** Loads of snapshots that concurrent reads share. */

import assert from "node:assert/strict";
import { systemHost } from "../../../src/host.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { shareLoads } from "../../../src/features/states/state_cache.ts";
import { saveSnapshot } from "../../../src/store/streams/snapshots.ts";
import type { StreamHead } from "../../../src/store/streams/stream_head.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { stateText } from "../../support/parsed_state.ts";
import { stateOfBase } from "../../../src/features/states/folded_state.ts";

const PLACE = { tenant: 1, stream: streamKey("order", "global"), foldHash: "f1" };

function headOf(length: number, generation = 0): StreamHead {
  return { length, generation } as StreamHead;
}

Deno.test("reads up to one head share a load, and reads of the past load nothing", async () => {
  await withTemporaryEngine(async (inner) => {
    const position = { length: 9, bytes: 900, generation: 0 };
    const state = `"${"x".repeat(3_000_000)}"`;
    await saveSnapshot(inner, PLACE, { ...position, state }, { rest: () => undefined });
    let snapshots = 0;
    const engine = wrapEngine(inner, {
      snapshot: (body, options) => (snapshots++, inner.snapshot(body, options)),
    });
    const load = shareLoads(engine, systemHost());
    const heads = [headOf(9), headOf(9), headOf(5), headOf(9, 1)];
    const found = await Promise.all(heads.map((head) => load(PLACE, head)));
    assert.deepEqual(found.map((each) => each?.length), [9, 9, undefined, undefined]);
    const together = snapshots;
    snapshots = 0;
    assert.equal(stateText(stateOfBase((await load(PLACE, headOf(9)))!)), state);
    // One more read for each head that the snapshot is of no use for.
    assert.equal(together, snapshots + 2);
  });
});
