/** What is left of a stream in the generation before the one it has: its events, their tiles. */

import type { Bytes, Transaction } from "../kv/engine.ts";
import { clearPage, type ErasedStream } from "./erased_copies.ts";
import { keys } from "./keys.ts";

/** The oldest first, so that who still reads them finds nothing sooner than something wrong. */
export async function removeOldEvents(
  tx: Transaction,
  { tenant, stream, generation }: ErasedStream,
): Promise<Bytes | undefined> {
  // Those of the generations before were removed by the erasures before.
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
