/** Heads of streams as they are stored, changed by hand: for tests of what is damaged. */

import type { StreamKey } from "../../src/domain/stream_key.ts";
import type { Transaction } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import {
  decodeHead,
  encodeHead,
  type StreamHead,
  tailOf,
} from "../../src/store/streams/stream_head.ts";

/** The events that the head itself has stay in it. Gives the head as it was. */
export async function changeHead(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  change: Partial<StreamHead>,
): Promise<StreamHead> {
  const key = keys.head(tenant, stream);
  const stored = await tx.get(key);
  const head = decodeHead(stored);
  tx.set(key, encodeHead({ ...head, ...change }, tailOf(stored, head)));
  return head;
}
