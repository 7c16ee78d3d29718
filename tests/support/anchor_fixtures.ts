/** What makers of anchors leave behind when they die. */

import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { readAnchorState, setAnchorState } from "../../src/store/audit/anchors.ts";
import { readEpoch, readRewrites, setEpoch } from "../../src/store/streams/audit_cuts.ts";

/** A cut of now, of which nobody makes an anchor: whoever took it has died. */
export async function leaveCut(engine: Engine, { number }: Tenant): Promise<void> {
  await engine.transact(async (tx) => {
    const cut = await readEpoch(tx, number);
    const { newest } = await readAnchorState(tx, number);
    const rewrites = await readRewrites(tx, number);
    const created_at = "2026-01-01T00:00:00.000Z";
    setEpoch(tx, number, cut + 1);
    const building = { cut, rewrites, created_at, attempt: "of somebody dead", seen_ms: 0 };
    setAnchorState(tx, number, { newest, building });
  });
}
