/** Removes the events and tiles of the generation that a stream had before an erasure. */

import type { Bytes, Transaction } from "../../kv/engine.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { keys } from "../keys.ts";

/** Removes the oldest first, so that a late reader finds nothing rather than something wrong. */
export async function removeOldEvents(
  tx: Transaction,
  { tenant, stream, generation }: ErasedStream,
): Promise<Bytes | undefined> {
  // Earlier erasures have removed the generations before that one.
  return await clearPage(tx, tenant, keys.segments(tenant, stream, generation - 1));
}

export async function removeOldTiles(
  tx: Transaction,
  { tenant, stream, generation }: ErasedStream,
): Promise<Bytes | undefined> {
  const { begin } = keys.streamTiles(tenant, stream);
  const { begin: end } = keys.tiles(tenant, stream, generation, 0);
  return await clearPage(tx, tenant, { begin, end });
}
