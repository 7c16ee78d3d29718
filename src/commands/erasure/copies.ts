/**
 * Every copy of an erased stream's data, with what removes it. THE ONE PLACE where a feature that
 * keeps something made from events says so: a row here, and a function in its own file under
 * `store/` (see `store/erased_copies.ts`). Decisions, section 18.
 *
 * They run in this order, each until it finds nothing more, a page in each transaction. Once the
 * markers are in place no event becomes a copy any more, but for what had read it before; so each
 * remover comes after those of which its copies are made.
 *
 * Not here: the ledger of keyed writes (hashes, and places of events: without it a client that
 * tries again would write the data anew), the log of commits (places), anchors, their trees and
 * marks (hashes). What is in memory is forgotten when the signal comes (`store/tombstones.ts`).
 */

import { removeStreamDeliveries } from "../../store/deliveries.ts";
import { removeStreamEnded } from "../../store/ended_deliveries.ts";
import { type CopyRemover, type ErasedStream } from "../../store/erased_copies.ts";
import { removeStreamErrors } from "../../store/error_records.ts";
import { removeOldEvents, removeOldTiles } from "../../store/old_generations.ts";
import { removeParkedEntries, removeStreamEntries } from "../../store/outbox.ts";
import { eraseFromSagas } from "../../store/sagas.ts";
import { removeParkedSchedules, removeStreamSchedules } from "../../store/schedules.ts";
import { removeSnapshots } from "../../store/snapshots.ts";
import { eraseFromViews } from "../../store/erased_views.ts";
import type { RemovalProgress } from "../../domain/erasure/tombstone.ts";
import type { Transaction } from "../../kv/engine.ts";

/** By a name that is kept while it is removed, and so never given to another kind. */
const COPIES: readonly (readonly [name: string, remove: CopyRemover])[] = [
  ["outbox", removeStreamEntries],
  ["parked_entries", removeParkedEntries],
  ["schedules", removeStreamSchedules],
  ["parked_schedules", removeParkedSchedules],
  // What outbox entries have told them is in them.
  ["sagas", eraseFromSagas],
  ["deliveries", removeStreamDeliveries],
  ["ended_deliveries", removeStreamEnded],
  ["errors", removeStreamErrors],
  ["views", eraseFromViews],
  ["snapshots", removeSnapshots],
  ["tiles", removeOldTiles],
  ["events", removeOldEvents],
];

/** Where removing begins. */
export const FIRST_COPY: RemovalProgress = { copy: COPIES[0]![0] };

/** Removes the next page of copies; gives where to go on, without a `copy` when all are gone. */
export async function removeCopies(
  tx: Transaction,
  erased: ErasedStream,
  { copy, after }: RemovalProgress,
): Promise<RemovalProgress> {
  // Another version of the service may have had others: then all are looked for again.
  const found = COPIES.findIndex(([name]) => name === copy);
  const at = Math.max(0, found);
  const [name, remove] = COPIES[at]!;
  const from = found < 0 || after === undefined ? undefined : Uint8Array.fromHex(after);
  const next = await remove(tx, erased, from);
  if (next !== undefined) return { copy: name, after: next.toHex() };
  const following = COPIES[at + 1];
  return following === undefined ? {} : { copy: following[0] };
}
