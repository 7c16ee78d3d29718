/**
 * What a process holds in memory of the reactions that it processes, and how long it waits for
 * them.
 */

import { openShares } from "../../domain/fairness/shares.ts";
import { limits } from "../../domain/limits.ts";
import type { OutboxPlace, OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import type { Host } from "../../host.ts";
import { type Timer, timerShard } from "../../store/timers.ts";
import { TextSet } from "../../domain/lookup/text_map.ts";

/** A wait for something that goes on when the wait is over. */
export interface ShortWait {
  /** Resolves after 250 ms. */
  readonly over: Promise<void>;
  isOver(): boolean;
  cancel(): void;
}

export function startWait(host: Host): ShortWait {
  let isOver = false;
  let cancel = () => {};
  const over = new Promise<void>((resolve) => {
    cancel = host.startTimer(limits.drainBeforeReplyMsMax, () => {
      isOver = true;
      resolve();
    });
  });
  return { over, isOver: () => isOver, cancel: () => cancel() };
}

/** Waits until `run` is over, but 250 ms at the latest. Rejects with it if it does in that time. */
export async function waitShortly(host: Host, run: Promise<unknown>): Promise<void> {
  const wait = startWait(host);
  await Promise.race([run, wait.over]).finally(wait.cancel);
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
  const names = new TextSet();

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

/**
 * The timers that are being fired. A round of the workers does not wait for all of them, so the
 * next one has to leave them out. Environments share their number and the bytes of their records.
 */
export interface FiringTimers {
  /** Of one shard. */
  count(shard: number): number;
  has(timer: Timer): boolean;
  /** Whether as many of an environment are being fired as may be. */
  isFull(tenant: number): boolean;
  openGroup(wait: ShortWait): TimerGroup;
  /** Resolves when the next one of them is over. */
  nextEnd(): Promise<void>;
  /** Resolves when none is being fired. */
  settle(): Promise<void>;
}

/** Timers that one call fires together. */
interface TimerGroup {
  /** Whether more of them may begin: there was no outage, and the wait is not over. */
  mayGoOn(): boolean;
  /** `work` throws only outages. */
  begin(timer: Timer, bytes: number, work: Promise<void>): void;
  /** Resolves when all of them or the wait are over. Throws the first outage so far. */
  end(): Promise<void>;
}

/** Timers that are fired at a time; one environment alone may have half of them. */
const TIMERS_MAX = 1_000;
/**
 * Stored bytes of their records; one environment alone may have half of them. As objects they take
 * up to twenty times as much.
 */
const FIRING_BYTES_MAX = 4 * 1024 * 1024;

export function openFiringTimers(): FiringTimers {
  const numbers = openShares(TIMERS_MAX);
  const bytes = openShares(FIRING_BYTES_MAX);
  const byShard = new Map<number, Set<string>>();
  let end = Promise.withResolvers<void>();

  function add(timer: Timer, count: 1 | -1, size: number): void {
    numbers.add(timer.tenant, count);
    bytes.add(timer.tenant, count * size);
    const shard = timerShard(timer);
    const names = byShard.get(shard) ?? new Set();
    byShard.set(shard, names);
    if (count > 0) names.add(timerName(timer));
    else names.delete(timerName(timer));
  }

  return {
    count: (shard) => byShard.get(shard)?.size ?? 0,
    has: (timer) => byShard.get(timerShard(timer))?.has(timerName(timer)) ?? false,
    isFull: (tenant) => numbers.isFull(tenant) || bytes.isFull(tenant),
    openGroup(wait) {
      const running: Promise<void>[] = [];
      let outage: { readonly error: unknown } | undefined;
      return {
        mayGoOn: () => outage === undefined && !wait.isOver(),
        begin(timer, size, work) {
          add(timer, 1, size);
          const run = work.catch((error) => void (outage ??= { error })).then(() => {
            add(timer, -1, size);
            end.resolve();
            end = Promise.withResolvers();
          });
          running.push(run);
        },
        async end() {
          await Promise.race([Promise.all(running), wait.over]);
          if (outage !== undefined) throw outage.error;
        },
      };
    },
    nextEnd: () => end.promise,
    async settle() {
      while ([...byShard.values()].some(({ size }) => size > 0)) await end.promise;
    },
  };
}

function timerName({ tenant, kind, id }: Timer): string {
  return `${tenant}/${kind}/${id}`;
}
