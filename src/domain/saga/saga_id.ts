/** Saga ids, which sort by the time of the trigger event. */

import { createHash } from "node:crypto";
import type { StoredEvent } from "../event.ts";
import type { OutboxPlace } from "../reaction/outbox_entry.ts";

const TIME_DIGITS = 12;
const HASH_DIGITS = 24;
const MS_PER_SECOND = 1000;

/** Always the same id for the same event, so that an event starts each saga once. */
export function sagaIdOf(
  name: string,
  { stream, index }: Pick<OutboxPlace, "stream" | "index">,
  { metadata }: Pick<StoredEvent, "metadata">,
): string {
  const text = JSON.stringify([name, stream, index]);
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_DIGITS);
  return `${sagaIdsFrom(metadata.timestamp)}${hash}`;
}

/** A text that sorts before all ids of sagas whose event was written at that Unix time or later. */
export function sagaIdsFrom(time: number): string {
  const digits = Math.max(0, time * MS_PER_SECOND).toString(16).padStart(TIME_DIGITS, "0");
  return `saga_${digits}`;
}
