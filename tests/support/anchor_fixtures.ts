/** Puts a store into the state that an anchor maker leaves behind when it dies. */

import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { readAnchorState, setAnchorState } from "../../src/store/audit/anchors.ts";
import { readEpoch, readRewrites, setEpoch } from "../../src/store/streams/audit_cuts.ts";

/** Takes a cut now, as a maker does that dies before it makes the anchor. */
export async function leaveCut(engine: Engine, { number }: Tenant): Promise<void> {
  await engine.transact(async (tx) => {
    const cut = await readEpoch(tx, number);
    const state = await readAnchorState(tx, number);
    const rewrites = await readRewrites(tx, number);
    const created_at = "2026-01-01T00:00:00.000Z";
    setEpoch(tx, number, cut + 1);
    const building = { cut, rewrites, created_at, attempt: "of somebody dead", seen_ms: 0 };
    setAnchorState(tx, number, { ...state, building });
  });
}
