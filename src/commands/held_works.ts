/**
 * Entries of the outbox that this process has in memory: its own, from the write that has left them
 * until they are done. There is a limit to their number and to their bytes, and environments share
 * both. What is beyond is left to the workers, who read it page by page.
 */

import { openShares } from "../domain/shares.ts";
import { limits } from "../domain/limits.ts";
import type { OutboxPlace, OutboxWork } from "../domain/reaction/outbox_entry.ts";

export interface HeldWorks {
  /** Whether an environment has as many as it may. */
  isFull(tenant: number): boolean;
  /** Whether it is in hand already: then it is done without the workers. */
  has(place: OutboxPlace): boolean;
  /** Keeps `works` in mind until {@link drop}. */
  hold(works: readonly OutboxWork[]): void;
  drop(works: readonly OutboxWork[]): void;
}

/** Entries in memory at a time. */
const WORKS_MAX = 40_000;
/** What an entry takes in memory beside the bytes that are stored. */
const ENTRY_BYTES = 500;

export function openHeldWorks(): HeldWorks {
  const numbers = openShares(WORKS_MAX);
  const bytes = openShares(limits.outboxHeldBytesMax);
  const names = new Set<string>();

  return {
    isFull: (tenant) => numbers.isFull(tenant) || bytes.isFull(tenant),
    has: (place) => names.size > 0 && names.has(nameOf(place)),
    hold(works) {
      for (const work of works) {
        numbers.add(work.place.tenant, 1);
        bytes.add(work.place.tenant, work.bytes + ENTRY_BYTES);
        names.add(nameOf(work.place));
      }
    },
    drop(works) {
      for (const work of works) {
        numbers.add(work.place.tenant, -1);
        bytes.add(work.place.tenant, -work.bytes - ENTRY_BYTES);
        names.delete(nameOf(work.place));
      }
    },
  };
}

function nameOf({ tenant, stream, index, number }: OutboxPlace): string {
  return `${tenant}/${stream}/${index}/${number}`;
}
