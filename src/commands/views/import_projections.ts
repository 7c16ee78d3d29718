/**
 * Projections that an import brings: their documents alone. Each is kept as one that has to be
 * built anew, which begins once the environment can be seen; settling finds out whether it fits.
 */

import type { MovedProjection } from "../../domain/transfer/work.ts";
import type { Transaction } from "../../kv/engine.ts";
import { signalCommits } from "../../store/commit_log.ts";
import {
  keepProjection,
  listProjections,
  markViewTenant,
  nextProjectionNumber,
  readProjection,
} from "../../store/projections.ts";

const NOT_BUILT = "The projection was imported and is about to be built";

/** False, and nothing is kept, where there is one of that name. */
export async function keepImportedProjection(
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
    // Made under no spec: so the next look at it gives it a version that is.
    building: { version: 1, document, columns: [], types: [], basis: "" },
    removing: [],
    broken: NOT_BUILT,
    isDeleted: false,
    deployed_at: deployedAt,
  });
  return true;
}

/** In the transaction with which the import becomes visible. */
export async function beginImportedProjections(tx: Transaction, tenant: number): Promise<void> {
  if ((await listProjections(tx, tenant)).length === 0) return;
  markViewTenant(tx, tenant);
  signalCommits(tx);
}
