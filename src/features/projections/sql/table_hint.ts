/** Makes the hint for a statement that names a table that does not exist. */

import { nameHint } from "../../../domain/nearest_name.ts";
import type { ReadTransaction } from "../../../kv/engine.ts";
import { listProjections } from "../../../store/projections/projections.ts";

const MISSING = /^no such table: (.*)$/;
/** The most table names in a hint. */
const NAMES_MAX = 20;

/** `reason`: why the statement was refused. Undefined if it was not about a missing table. */
export async function hintForTable(
  tx: ReadTransaction,
  tenant: number,
  reason: string,
): Promise<string | undefined> {
  const [, table] = MISSING.exec(reason) ?? [];
  if (table === undefined) return undefined;
  const records = (await listProjections(tx, tenant)).filter(({ isDeleted }) => !isDeleted);
  const named = records.find(({ name }) => name.toLowerCase() === table.toLowerCase());
  if (named !== undefined && named.ready === undefined) {
    return `The projection ${named.name} is being built: ask again when it is ready, which ` +
      "GET /api/instances/{id}/projections tells";
  }
  const names = records.filter(({ ready }) => ready !== undefined).map(({ name }) => name);
  if (names.length === 0) return "There are no tables: each projection that is ready is one";
  const near = nameHint(table, names);
  if (near !== undefined) return near;
  const more = names.length > NAMES_MAX ? ` and ${names.length - NAMES_MAX} more` : "";
  return `Each projection that is ready is a table: ${names.slice(0, NAMES_MAX).join(", ")}${more}`;
}
