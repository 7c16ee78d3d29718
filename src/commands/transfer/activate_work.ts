/**
 * Puts into the queues what an import had to keep back. The import's last transaction begins with
 * it; what that cannot hold follows at once, and where the import dies before, the sweeper does it.
 */

import type { Engine, Transaction } from "../../kv/engine.ts";
import { markImportedWork, moveImportedWork, nextImportedWork } from "../../store/imported_work.ts";

/** Pieces that are moved in one transaction; they are bounded in bytes too. */
const PIECES = 1_000;

/** For the transaction that makes the environment: all of its work, or the beginning. */
export async function beginActivation(tx: Transaction, tenant: number): Promise<void> {
  markImportedWork(tx, tenant);
  await moveImportedWork(tx, tenant, PIECES);
}

/** One transaction's worth, of whichever environment; gives how many pieces it has moved. */
export async function activateSome(engine: Engine): Promise<number> {
  // Asked for all the time and nearly always in vain: a snapshot costs least.
  const tenant = await engine.snapshot(nextImportedWork);
  if (tenant === undefined) return 0;
  return await engine.transact((tx) => moveImportedWork(tx, tenant, PIECES));
}

/** All there is. */
export async function finishImports(engine: Engine): Promise<void> {
  while (await engine.snapshot(nextImportedWork) !== undefined) await activateSome(engine);
}
