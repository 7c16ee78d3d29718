/** Names of the figures that the goals refer to; others are named where they are measured. */

/** Connections of a work that is measured with only one number of them. */
export const BUSY = 64;

export const HOT_STREAM = `append to one hot stream, ${BUSY}`;
export const KEYED_APPEND = `append with a key, ${BUSY}`;
export const KEYED_HOT_STREAM = `append with a key to one hot stream, ${BUSY}`;
export const MANY_TYPES = `append over 256 types, ${BUSY}`;
export const DISK = "disk for an event of 256 bytes";

export function nameOfAppend(connections: number): string {
  return `append, ${connections} connection${connections === 1 ? "" : "s"}`;
}

export function nameOfBatches(events: number): string {
  return `batches of ${events}, 2`;
}

export function nameOfGrowth(events: number): string {
  return `append behind ${events} events, ${BUSY}`;
}

/** A read of something that was read before, over `connections` connections. */
export function nameOfCachedRead(events: number, connections: number): string {
  return `read of ${events} events again, ${connections}`;
}
