/** Reads what is new in one stream, for those who follow it live. See docs/reference/reading.md. */

import { eventId, parseEventId } from "../../domain/event.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { readEvents, withinBytes } from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";
import { locateStream, type SpecCache } from "../base/current_spec.ts";

export interface TailName {
  readonly aggregateType: string;
  readonly id: string;
}

export interface TailRequest extends TailName {
  /** The id of the event behind which the page begins, as sent; undefined: the first event. */
  readonly start: string | undefined;
  readonly limit: number;
  /** Bytes of the events. The first may have more. */
  readonly bytesMax: number;
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
}

/** The key of a stream; refuses a type that the spec does not have, and what is no identifier. */
export async function locateTail(
  specs: SpecCache,
  tenant: Tenant,
  { aggregateType, id }: TailName,
): Promise<Outcome<StreamKey>> {
  const located = locateStream(await specs.current(tenant.number), aggregateType, id);
  return located.ok ? accept(located.value.key) : located;
}

/** A `start` that is beyond the end is one to wait behind. */
export async function readTailPage(
  { engine, specs }: { readonly engine: Engine; readonly specs: SpecCache },
  tenant: Tenant,
  { start, limit, bytesMax, ...name }: TailRequest,
): Promise<Outcome<TailPage>> {
  const located = await locateTail(specs, tenant, name);
  if (!located.ok) return located;
  const key = located.value;
  const before = start === undefined ? -1 : parseEventId(start);
  if (before === undefined) {
    const message = "start must be the id of an event, as a listing gives it";
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  return await engine.snapshot(async (tx) => {
    const { length, generation } = await readHead(tx, tenant.number, key);
    const from = before + 1;
    const to = Math.min(length, from + limit);
    const read = from < to
      ? await readEvents(tx, tenant.number, key, { from, to, bytesMax, generation })
      : [];
    const events = withinBytes(read, bytesMax);
    const entries = events.map(({ index, hash, raw }) => ({ id: eventId(index), hash, raw }));
    return accept({ key, entries, generation, length, isUpToDate: from + events.length >= length });
  });
}
