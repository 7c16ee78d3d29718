/**
 * Moves work into the queues that a transfer had to keep back until it was complete. The
 * import's last transaction moves the first part and the rest follows at once. If the import
 * dies before that, the sweeper moves it.
 */

import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  markTransferredWork,
  moveTransferredWork,
  nextTransferredWork,
} from "../../store/transfers.ts";

/** Items that one transaction moves; their bytes are bounded as well. */
const PIECES = 1_000;

/** Runs in the transaction that makes the environment. Moves all of its work, or the first part. */
export async function beginActivation(tx: Transaction, tenant: number): Promise<void> {
  markTransferredWork(tx, tenant);
  await moveTransferredWork(tx, tenant, PIECES);
}

/** Moves one transaction's worth of any environment. Returns how many items it moved. */
export async function activateSome(engine: Engine): Promise<number> {
  // This is asked all the time and nearly always in vain, so a snapshot, the cheapest read,
  // asks first.
  const tenant = await engine.snapshot(nextTransferredWork);
  if (tenant === undefined) return 0;
  return await engine.transact((tx) => moveTransferredWork(tx, tenant, PIECES));
}

/** Moves everything that is left. */
export async function finishTransfers(engine: Engine): Promise<void> {
  while (await engine.snapshot(nextTransferredWork) !== undefined) await activateSome(engine);
}
