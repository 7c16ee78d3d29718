/**
 * Marks of transfers under way, each with the tenant number that it fills. No environment has
 * that number yet. With the mark, a later transfer into the same environment finds and removes
 * what one that died has left.
 */

import type { Environment } from "../../domain/tenant.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";

/** The environment that a transfer fills, by slug, because its instance may not exist yet. */
export interface ImportPlace {
  readonly slug: string;
  readonly environment: Environment;
}

/** The tenant number of the transfer under way; undefined if there is none. */
export async function readImportMark(
  tx: Pick<ReadTransaction, "get">,
  { slug, environment }: ImportPlace,
): Promise<number | undefined> {
  const value = await tx.get(keys.importMark(slug, environment));
  return value && decodeRecord<{ tenant: number }>(value).tenant;
}

export function setImportMark(tx: Transaction, place: ImportPlace, tenant: number): void {
  tx.set(keys.importMark(place.slug, place.environment), encodeRecord({ tenant }));
}

export function clearImportMark(tx: Transaction, { slug, environment }: ImportPlace): void {
  tx.clear(keys.importMark(slug, environment));
}

/** Removes everything that a transfer has brought so far. */
export function clearImported(tx: Transaction, tenant: number): void {
  tx.clearRange(keys.tenant(tenant));
}
