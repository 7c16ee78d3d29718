/**
 * Reads the events of many streams that still have to be exported. Many small streams share a
 * transaction; a large stream is read in pages. The next group is read while the last one is
 * written.
 */

import { extendChain } from "../../domain/audit/chain.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Engine } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";

/** How far a stream was written before; nothing at first. */
export interface Reached {
  readonly length: number;
  readonly bytes: number;
  readonly tip: string | undefined;
}

export interface Delta {
  readonly key: StreamKey;
  readonly head: StreamHead;
  readonly from: Reached;
}

/** Consecutive events of one delta. `isLast` is true for the page that reaches its head. */
export interface DeltaPage {
  readonly delta: Delta;
  readonly events: readonly IndexedEvent[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** The source changed in a way that a file cannot represent. */
export class ExportDisturbed extends Error {
  override readonly name = "ExportDisturbed";
}

const PAGE_BYTES = 1024 * 1024;
const GROUP_BYTES = 512 * 1024;
const GROUP_STREAMS = 200;

/** The pages of all deltas, in order. */
export async function* readDeltas(
  engine: Engine,
  tenant: number,
  deltas: readonly Delta[],
): AsyncGenerator<DeltaPage> {
  const groups = groupDeltas(deltas);
  let reading = readGroup(engine, tenant, groups[0]);
  for (const [index, group] of groups.entries()) {
    const firstPages = await reading;
    reading = readGroup(engine, tenant, groups[index + 1]);
    // The `await` above meets a failure; until then it must not count as unhandled.
    reading.catch(() => {});
    for (const [place, delta] of group.entries()) {
      yield* followPages(engine, tenant, delta, firstPages[place]!);
    }
  }
}

function groupDeltas(deltas: readonly Delta[]): Delta[][] {
  const groups: Delta[][] = [];
  let room = { streams: 0, bytes: 0 };
  for (const delta of deltas) {
    const bytes = delta.head.bytes - delta.from.bytes;
    if (room.streams === 0 || room.bytes < bytes) {
      groups.push([]);
      room = { streams: GROUP_STREAMS, bytes: GROUP_BYTES };
    }
    groups.at(-1)!.push(delta);
    room = { streams: room.streams - 1, bytes: room.bytes - bytes };
  }
  return groups;
}

/** Reads the first page of each delta of the group, all at one version. */
function readGroup(
  engine: Engine,
  tenant: number,
  group: readonly Delta[] = [],
): Promise<IndexedEvent[][]> {
  if (group.length === 0) return Promise.resolve([]);
  return engine.snapshot((tx) =>
    Promise.all(group.map(({ key, head, from }) =>
      readEvents(tx, tenant, key, {
        from: from.length,
        to: head.length,
        bytesMax: PAGE_BYTES,
        generation: head.generation,
      })
    ))
  );
}

async function* followPages(
  engine: Engine,
  tenant: number,
  delta: Delta,
  firstPage: IndexedEvent[],
): AsyncGenerator<DeltaPage> {
  const { key, head } = delta;
  let { length, tip } = delta.from;
  let events = firstPage;
  for (;;) {
    // No events are left there if the stream was rewritten.
    if (events.length === 0) await explainBreak(engine, tenant, delta, length);
    for (const { index, raw, hash } of events) {
      tip = extendChain(tip, raw);
      if (index !== length || hash !== tip) await explainBreak(engine, tenant, delta, index);
      length++;
    }
    const isLast = length === head.length;
    if (isLast && tip !== head.tip) await explainBreak(engine, tenant, delta, length - 1);
    const isFirst = events === firstPage;
    yield { delta, events, isFirst, isLast };
    if (isLast) return;
    const { generation } = head;
    const window = { from: length, to: head.length, bytesMax: PAGE_BYTES, generation };
    events = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
  }
}

/**
 * Explains events that do not chain: the stream was rewritten meanwhile, or the store is
 * damaged.
 */
async function explainBreak(
  engine: Engine,
  tenant: number,
  { key, head }: Delta,
  index: number,
): Promise<never> {
  const now = await engine.snapshot((tx) => readHead(tx, tenant, key));
  if (now.generation !== head.generation) throw rewritten(key);
  throw new Error(`The store is damaged: event ${index} of ${key} breaks the stream's hash chain`);
}

export function rewritten(key: StreamKey): ExportDisturbed {
  return new ExportDisturbed(`The stream ${key} was rewritten during the export. Run it again`);
}
