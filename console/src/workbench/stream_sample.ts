/** The events that the workbench works on: the first of one stream, and the newest of many. */

import type { Refusal } from "@daybook/client";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { connection } from "../shell/connection.ts";
import { type Entry, openStreamEvents } from "../streams/stream_events.ts";

/** So many events, and characters of JSON, are folded at most. */
export const EVENTS_MAX = 10_000;
const CHARACTERS_MAX = 16 * 1024 * 1024;

/** A schema is drafted from the newest events of so many streams, so many of each. */
const STREAMS_READ = 20;
const EVENTS_READ = 50;

export interface StreamSample {
  readonly ok: true;
  readonly events: readonly StoredEvent[];
  /** Of the whole stream. */
  readonly length: number;
}

export async function readStream(
  type: string,
  id: string,
  signal: AbortSignal,
  eventsMax = EVENTS_MAX,
): Promise<StreamSample | Refusal> {
  const { db } = connection.peek();
  const answer = await db[type]!(id).length({ signal });
  if (!answer.ok) return answer as Refusal;
  const count = Math.min(answer.length, eventsMax);
  const reader = openStreamEvents(db, type, id);
  signal.addEventListener("abort", () => reader.stop());
  await reader.loadFirst(count, CHARACTERS_MAX);
  const refusal = reader.refusal.peek();
  if (refusal !== undefined) return refusal;
  const events: StoredEvent[] = [];
  // Where the characters were too many, only the first events are there.
  for (let index = 0; index < count; index++) {
    const entry = reader.at(index);
    if (entry === undefined) break;
    events.push(entry.event as unknown as StoredEvent);
  }
  return { ok: true, events, length: answer.length };
}

export interface EventSample {
  readonly ok: true;
  readonly values: readonly unknown[];
  readonly streams: number;
}

/** The data of the newest events of one type, among the newest of the first streams. */
export async function readRecent(
  type: string,
  eventType: string,
  signal: AbortSignal,
): Promise<EventSample | Refusal> {
  const { db } = connection.peek();
  const streams = await db[type]!.listPage({ limit: STREAMS_READ, signal });
  if (!streams.ok) return streams as Refusal;
  const values: unknown[] = [];
  const ids = streams.data as readonly string[];
  for (const id of ids) {
    const page = await db[type]!(id).eventsPage({
      direction: "backwards",
      count: EVENTS_READ,
      signal,
    });
    if (!page.ok) return page as Refusal;
    for (const { event } of page.data as readonly Entry[]) {
      if (event.type === eventType) values.push(event.data);
    }
  }
  return { ok: true, values, streams: ids.length };
}
