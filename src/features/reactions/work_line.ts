/**
 * The line in which outbox entries are processed, however many there are. An entry in line takes
 * little more memory than itself, while one being processed takes kilobytes. So only some are
 * processed at a time, and environments take turns. See docs/internals/reactions.md.
 */

import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { openShares } from "../../domain/fairness/shares.ts";
import type { OutboxWork } from "../../domain/reaction/outbox_entry.ts";

export interface WorkLine {
  /**
   * Processes entries and everything that follows from them. Resolves when all of it is done.
   * After an outage nothing more of it begins; then it rejects with that outage once nothing of it
   * is running.
   */
  doAll(works: readonly OutboxWork[]): Promise<void>;
}

/** What one entry has led to. */
export interface Consequence {
  /** Entries that are processed next. */
  readonly works?: readonly OutboxWork[];
  /** Work that goes on without a place in the line. */
  readonly running?: Promise<void>;
}

export interface WorkLineParts {
  /** Throws only outages. */
  attempt(work: OutboxWork): Promise<Consequence>;
  /** Is called once for each entry, attempted or not. */
  onOver(work: OutboxWork): void;
}

/** Entries that are processed at a time; one environment alone may have half of them. */
const ATTEMPTS_MAX = 1_000;

/** What one call of `doAll` has set in motion. */
interface Undertaking {
  /** Entries and running work that are not over yet. */
  open: number;
  outage?: { readonly error: unknown };
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function openWorkLine({ attempt, onOver }: WorkLineParts): WorkLine {
  const line = openFairLine<number>();
  const attempts = openShares(ATTEMPTS_MAX);

  function doAll(works: readonly OutboxWork[]): Promise<void> {
    if (works.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      add({ open: 0, resolve, reject }, works);
      startWaiting();
    });
  }

  function add(all: Undertaking, works: readonly OutboxWork[]): void {
    all.open += works.length;
    for (const work of works) line.push(work.place.tenant, () => start(all, work));
  }

  function startWaiting(): void {
    for (;;) {
      const begin = line.take((tenant) => !attempts.isFull(tenant));
      if (begin === undefined) return;
      begin();
    }
  }

  function start(all: Undertaking, work: OutboxWork): void {
    if (all.outage === undefined) return void process(all, work);
    onOver(work);
    close(all);
  }

  async function process(all: Undertaking, work: OutboxWork): Promise<void> {
    const { tenant } = work.place;
    attempts.add(tenant, 1);
    try {
      const { works, running } = await attempt(work);
      if (works !== undefined) add(all, works);
      if (running !== undefined) {
        all.open++;
        running.then(() => close(all), (error) => fail(all, error));
      }
    } catch (error) {
      all.outage ??= { error };
    } finally {
      attempts.add(tenant, -1);
      onOver(work);
      close(all);
      startWaiting();
    }
  }

  function fail(all: Undertaking, error: unknown): void {
    all.outage ??= { error };
    close(all);
  }

  function close(all: Undertaking): void {
    if (--all.open > 0) return;
    if (all.outage === undefined) all.resolve();
    else all.reject(all.outage.error);
  }

  return { doAll };
}
