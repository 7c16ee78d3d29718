/** Computes the size of a transaction as FoundationDB counts it; all engines count this way. */

import type { Guards } from "./conflict_log.ts";
import type { WriteBuffer } from "./write_buffer.ts";

/** Bytes of the commit's stamp in a stamped key. */
export const stampBytes = 10;

/** Each write counts once for itself and once for the range it may conflict with. */
export function countTransactionBytes(buffer: WriteBuffer, guards: Guards): number {
  let count = 0;
  for (const { key, value, delta } of buffer.writes.entries) {
    const written = value !== undefined ? value.length : delta !== undefined ? 8 : key.length + 1;
    count += 3 * key.length + 1 + written;
  }
  for (const { prefix, suffix, value } of buffer.stamped) {
    count += 3 * (prefix.length + stampBytes + suffix.length) + 1 + value.length;
  }
  for (const { begin, end } of buffer.cleared) count += 2 * (begin.length + end.length);
  for (const { key } of guards.keys.entries) count += 2 * key.length + 1;
  for (const { begin, end } of guards.ranges) count += begin.length + end.length;
  return count;
}
