/**
 * Imports of events into an environment, by their ids. A record is written in the transactions
 * that append the import's events, so it never reports more or less than is there. It is never
 * removed, because a rerun must find it.
 */

import type { ImportRecord } from "../domain/import/progress.ts";
import type { ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keyAfter, keys } from "./keys.ts";

export async function readImport(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  id: string,
): Promise<ImportRecord | undefined> {
  const value = await tx.get(keys.importRecord(tenant, id));
  return value && decodeRecord<ImportRecord>(value);
}

export function storeImport(tx: Transaction, tenant: number, record: ImportRecord): void {
  tx.set(keys.importRecord(tenant, record.id), encodeRecord(record));
}

/** At most `limit` records after the id `start`, by id. */
export async function listImports(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  page: { readonly start?: string; readonly limit: number },
): Promise<ImportRecord[]> {
  const { begin, end } = keys.importRecords(tenant);
  const from = page.start === undefined ? begin : keyAfter(keys.importRecord(tenant, page.start));
  const pairs = await tx.getRange({ begin: from, end }, { limit: page.limit });
  return pairs.map(({ value }) => decodeRecord<ImportRecord>(value));
}
