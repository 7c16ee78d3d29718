/**
 * Tracks the outbox entries that this process holds in memory. These are its own entries, from
 * the write that left them until they are done. Their number and their bytes are limited, and
 * environments share both limits. Entries beyond the limits are left to the workers, which read
 * the outbox page by page.
 */

import { openShares } from "../../domain/fairness/shares.ts";
import { limits } from "../../domain/limits.ts";
import type { OutboxPlace, OutboxWork } from "../../domain/reaction/outbox_entry.ts";

export interface HeldWorks {
  /** Whether an environment holds as many as it may. */
  isFull(tenant: number): boolean;
  /** Whether the entry is held already. If so, the workers must not do it as well. */
  has(place: OutboxPlace): boolean;
  /** Holds `works` until {@link drop}. */
  hold(works: readonly OutboxWork[]): void;
  drop(works: readonly OutboxWork[]): void;
}

/** Entries in memory at most. */
const WORKS_MAX = 40_000;
/** Memory that an entry takes besides its stored bytes. */
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
