/** Stored rows of projections with their data, as tests compare them. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { ProjectionPlace } from "../../src/domain/projection/ready_projection.ts";
import type { ReadTransaction } from "../../src/kv/engine.ts";
import {
  readProjectionRow,
  readProjectionRows,
  type RowsPage,
  type StoredRow,
} from "../../src/store/projections/projection_rows.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** `data`: null if the row could never be computed. */
export interface ParsedRow extends StoredRow {
  readonly data: JsonObject | null;
}

function parseRow(row: StoredRow): ParsedRow {
  return { ...row, data: JSON.parse(row.dataJson) };
}

/** Undefined if there is none. */
export async function readParsedRow(
  tx: Reads,
  place: ProjectionPlace,
  key: string,
): Promise<ParsedRow | undefined> {
  const row = await readProjectionRow(tx, place, key);
  return row && parseRow(row);
}

export async function readParsedRows(
  tx: Reads,
  place: ProjectionPlace,
  page: RowsPage,
): Promise<ParsedRow[]> {
  return (await readProjectionRows(tx, place, page)).map(parseRow);
}
