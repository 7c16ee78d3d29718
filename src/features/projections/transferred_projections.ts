/**
 * Stores projections from an imported file, where only their documents are kept. Each one has
 * to be built anew, which begins once the environment is visible. Settling then finds out
 * whether its document fits the spec.
 */

import type { MovedProjection } from "../../domain/transfer/work.ts";
import type { Transaction } from "../../kv/engine.ts";
import { signalCommits } from "../../store/feed/commit_log.ts";
import { beginLogCursor } from "../../store/feed/log_cursor.ts";
import {
  keepProjection,
  listProjections,
  markProjectionTenant,
  nextProjectionNumber,
  readProjection,
} from "../../store/projections/projections.ts";

const NOT_BUILT = "The projection was imported and is about to be built";

/** Returns false and stores nothing if there is already a projection of that name. */
export async function keepTransferredProjection(
  tx: Transaction,
  tenant: number,
  { name, deployedAt, document }: MovedProjection,
): Promise<boolean> {
  if (await readProjection(tx, tenant, name) !== undefined) return false;
  const number = await nextProjectionNumber(tx, tenant);
  keepProjection(tx, tenant, {
    name,
    number,
    versions: 1,
    // Has no spec as its basis, so the next settling gives it a version that has one.
    building: { version: 1, document, columns: [], types: [], basis: "" },
    removing: [],
    broken: NOT_BUILT,
    isDeleted: false,
    deployed_at: deployedAt,
  });
  return true;
}

/** Runs in the transaction that makes the import visible. */
export async function beginTransferredProjections(tx: Transaction, tenant: number): Promise<void> {
  if ((await listProjections(tx, tenant)).length === 0) return;
  await beginLogCursor(tx, tenant);
  markProjectionTenant(tx, tenant);
  signalCommits(tx);
}
