/** Reads what is new in one stream, for those who follow it live. See docs/reference/reading.md. */

import { eventId, parseStart } from "../../domain/event.ts";
import type { AggregateName } from "../../domain/reading.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { readEvents, withinBytes } from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";

export interface TailRequest extends AggregateName {
  /** The id of the event behind which the page begins, as sent; undefined: the first event. */
  readonly start?: string;
  /** Events; absent: none, only how far the stream is. */
  readonly limit?: number;
  /** Bytes of the events. The first may have more. */
  readonly bytesMax?: number;
}

export interface TailPage {
  readonly key: StreamKey;
  readonly entries: readonly { readonly id: string; readonly hash: string; readonly raw: string }[];
  /** Grows with each erasure of the stream. */
  readonly generation: number;
  /** How many events the stream has. */
  readonly length: number;
  /** Whether nothing was behind the page when it was read. */
  readonly isUpToDate: boolean;
  /** Whether the stream does not have the event that `start` names: an older store was restored. */
  readonly isBeyond: boolean;
}

/** The key of a stream; refuses a type that the spec does not have, and what is no identifier. */
export async function locateTail(
  specs: SpecCache,
  tenant: Tenant,
  { aggregateType, id }: AggregateName,
): Promise<Outcome<StreamKey>> {
  const located = locateStream(await specs.current(tenant.number), aggregateType, id);
  return located.ok ? accept(located.value.key) : located;
}

export async function readTailPage(
  { engine, specs }: { readonly engine: Engine; readonly specs: SpecCache },
  tenant: Tenant,
  { start, limit = 0, bytesMax = 0, ...name }: TailRequest,
): Promise<Outcome<TailPage>> {
  const located = await locateTail(specs, tenant, name);
  if (!located.ok) return located;
  const key = located.value;
  const before = parseStart(start);
  if (!before.ok) return before;
  return await engine.snapshot(async (tx) => {
    const { length, generation } = await readHead(tx, tenant.number, key);
    const from = (before.value ?? -1) + 1;
    const to = Math.min(length, from + limit);
    const read = from < to
      ? await readEvents(tx, tenant.number, key, { from, to, bytesMax, generation })
      : [];
    const events = withinBytes(read, bytesMax);
    const entries = events.map(({ index, hash, raw }) => ({ id: eventId(index), hash, raw }));
    const isUpToDate = from + events.length >= length;
    return accept({ key, entries, generation, length, isUpToDate, isBeyond: from > length });
  });
}
