/**
 * Lists every copy of an erased stream's data together with its remover. This is THE ONE PLACE
 * where a feature that stores something made from events declares it: with a row here and a
 * function beside its records under `store/` (see `store/erased_copies.ts`). See
 * docs/reference/erasure.md.
 *
 * The removers run in this order, each until it finds nothing more, one page per transaction.
 * Once the markers are in place, no event is copied any more, except by something that had read
 * it before. So the remover of a copy comes after the removers of what the copy is made from.
 *
 * Not listed here: the idempotency ledger (it holds hashes and the places of events; without it
 * a client that retries would write the data again), the commit log (places only), and anchors
 * with their trees and marks (hashes only). Memory is cleared when the erasure signal arrives
 * (`store/tombstones.ts`).
 */

import { removeStreamDeliveries } from "../../store/listeners/deliveries.ts";
import { removeStreamEnded } from "../../store/listeners/ended_deliveries.ts";
import type { CopyRemover, ErasedStream } from "../../store/erased_copies.ts";
import { removeStreamErrors } from "../../store/error_records.ts";
import { removeOldEvents } from "../../store/streams/stream_events.ts";
import { removeOldTiles } from "../../store/streams/tiles.ts";
import { removeParkedEntries, removeStreamEntries } from "../../store/reactions/outbox.ts";
import { eraseFromSagas } from "../../store/sagas/sagas.ts";
import { removeParkedSchedules, removeStreamSchedules } from "../../store/reactions/schedules.ts";
import { removeSnapshots } from "../../store/streams/snapshots.ts";
import { eraseFromProjections } from "../../store/projections/erased_projections.ts";
import type { RemovalProgress } from "../../domain/erasure/tombstone.ts";
import type { Transaction } from "../../kv/engine.ts";

/**
 * Each name is stored while its removal is under way, so it must never be reused for another
 * kind.
 */
const COPIES: readonly (readonly [name: string, remove: CopyRemover])[] = [
  ["outbox", removeStreamEntries],
  ["parked_entries", removeParkedEntries],
  ["schedules", removeStreamSchedules],
  ["parked_schedules", removeParkedSchedules],
  // After the outbox, because sagas contain what outbox entries have shown them.
  ["sagas", eraseFromSagas],
  ["deliveries", removeStreamDeliveries],
  ["ended_deliveries", removeStreamEnded],
  ["errors", removeStreamErrors],
  ["views", eraseFromProjections],
  ["snapshots", removeSnapshots],
  ["tiles", removeOldTiles],
  ["events", removeOldEvents],
];

/** Where removal begins. */
export const FIRST_COPY: RemovalProgress = { copy: COPIES[0]![0] };

/**
 * Removes the next page of copies. Returns where to go on, without `copy` once everything is
 * gone.
 */
export async function removeCopies(
  tx: Transaction,
  erased: ErasedStream,
  { copy, after }: RemovalProgress,
): Promise<RemovalProgress> {
  // Another version of the service may have had other copies; then all of them are searched
  // again.
  const found = COPIES.findIndex(([name]) => name === copy);
  const at = Math.max(0, found);
  const [name, remove] = COPIES[at]!;
  const from = found < 0 || after === undefined ? undefined : Uint8Array.fromHex(after);
  const next = await remove(tx, erased, from);
  if (next !== undefined) return { copy: name, after: next.toHex() };
  const following = COPIES[at + 1];
  return following === undefined ? {} : { copy: following[0] };
}
