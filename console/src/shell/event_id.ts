/** Ids of events, as the server makes them. */

/** An event's id is its index in twelve digits. */
export function eventId(index: number): string {
  return String(index).padStart(12, "0");
}

/** Where a page starts whose first event has this index; undefined for the first of a stream. */
export function startBefore(index: number): string | undefined {
  return index === 0 ? undefined : eventId(index - 1);
}
