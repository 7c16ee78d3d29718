/** One stream, filled by appends of given sizes. */

import { encodeEvent } from "../../src/domain/event.ts";
import { streamKey } from "../../src/domain/identifier.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import { decodeHead, tailCount, tailOf } from "../../src/store/streams/stream_head.ts";
import { openStreams } from "../../src/store/streams/streams.ts";

export const TENANT = 1;
export const STREAM = streamKey("order", "global");

/** An event whose data holds `size` characters. */
export function event(number: number, size = 10) {
  const data = JSON.stringify({ number, fill: "x".repeat(size) });
  return encodeEvent({
    key: STREAM,
    type: "was_noted",
    dataJson: data,
    metadataJson: '{"timestamp":1}',
  });
}

/** Appends events of these sizes in one transaction. Returns their bytes as stored. */
export async function append(
  engine: Engine,
  from: number,
  sizes: readonly number[],
  timestamp = 1,
): Promise<string[]> {
  const events = sizes.map((size, index) => event(from + index, size));
  await engine.transact(async (tx) => {
    const appender = (await openStreams(tx, TENANT, [STREAM]))[0]!;
    appender.append(events, timestamp);
    appender.flush(0);
  });
  return events.map(({ raw }) => raw);
}

/** How many events the head of the stream holds itself. */
export async function heldBy(engine: Engine): Promise<number> {
  const stored = await engine.snapshot((tx) => tx.get(keys.head(TENANT, STREAM)));
  return tailCount(tailOf(stored, decodeHead(stored)));
}
