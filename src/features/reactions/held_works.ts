/**
 * What a process holds in memory of the reactions that it processes, and how long it waits for
 * them.
 */

import { openShares } from "../../domain/fairness/shares.ts";
import { limits } from "../../domain/limits.ts";
import type { OutboxPlace, OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import type { Host } from "../../host.ts";

/** Waits until `run` is over, but 250 ms at the latest. Rejects with it if it does in that time. */
export async function waitShortly(host: Host, run: Promise<unknown>): Promise<void> {
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = host.startTimer(limits.drainBeforeReplyMsMax, resolve);
  });
  await Promise.race([run, over]).finally(cancel);
}

/**
 * Tracks the outbox entries that this process holds in memory. These are its own entries, from
 * the write that left them until they are done. Their number and their bytes are limited, and
 * environments share both limits. Entries beyond the limits are left to the workers, which read
 * the outbox page by page.
 */
interface HeldWorks {
  /** Whether an environment holds as many as it may. */
  isFull(tenant: number): boolean;
  /** Whether the entry is held already. If so, the workers must not do it as well. */
  has(place: OutboxPlace): boolean;
  /**
   * Holds the entries that one write of an environment has left until {@link drop}, and returns
   * them. Returns none if the environment holds as many as it may by now.
   */
  take(works: readonly OutboxWork[]): readonly OutboxWork[];
  /** Does nothing if the entry is not held. */
  drop(work: OutboxWork): void;
}

/** Entries in memory at most. */
const WORKS_MAX = 40_000;
/** Memory that an entry takes besides its stored bytes. */
const ENTRY_BYTES = 500;

export function openHeldWorks(): HeldWorks {
  const numbers = openShares(WORKS_MAX);
  const bytes = openShares(limits.outboxHeldBytesMax);
  const names = new Set<string>();

  function isFull(tenant: number): boolean {
    return names.size > 0 && (numbers.isFull(tenant) || bytes.isFull(tenant));
  }

  return {
    isFull,
    has: (place) => names.size > 0 && names.has(nameOf(place)),
    take(works) {
      if (works.length === 0 || isFull(works[0]!.place.tenant)) return [];
      for (const work of works) {
        numbers.add(work.place.tenant, 1);
        bytes.add(work.place.tenant, work.bytes + ENTRY_BYTES);
        names.add(nameOf(work.place));
      }
      return works;
    },
    drop(work) {
      if (!names.delete(nameOf(work.place))) return;
      numbers.add(work.place.tenant, -1);
      bytes.add(work.place.tenant, -work.bytes - ENTRY_BYTES);
    },
  };
}

function nameOf({ tenant, stream, index, number }: OutboxPlace): string {
  return `${tenant}/${stream}/${index}/${number}`;
}
