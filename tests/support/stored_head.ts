/** Changes stored heads of streams by hand, for tests of damaged stores. */

import type { StreamKey } from "../../src/domain/identifier.ts";
import type { Transaction } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import {
  decodeHead,
  encodeHead,
  type StreamHead,
  tailOf,
} from "../../src/store/streams/stream_head.ts";

/** Keeps the events that the head itself holds. Returns the head as it was. */
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
