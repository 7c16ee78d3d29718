/**
 * Turns of environments in the rounds of a worker. A round waits for each turn, but not for long: a
 * turn that is late goes on beside the rounds, and its environment has no other one until then. So
 * an environment whose modules take seconds holds up itself alone.
 */

import { createRecentMap } from "../../domain/recent_map.ts";
import type { Host } from "../../host.ts";

export interface LateTurns {
  /** The same in the order of this round: it begins with who was passed over in the last one. */
  inTurn<T>(items: readonly T[], tenantOf: (item: T) => number): T[];
  /**
   * Takes the turn of an environment. Returns what the turn does; 0 if it is late, if an earlier
   * one still goes on, or if the environment is known as slow and has no place.
   */
  take(tenant: number, turn: () => Promise<number>): Promise<number>;
  /** What late turns have done since the last call. Throws the first failure among them. */
  collect(): number;
  /** Resolves when no late turn goes on. */
  settle(): Promise<void>;
}

/**
 * How long a round waits for a turn. It is longer than the second after which turns end by
 * themselves: only those are late in which one step, such as a call of a module, takes long.
 */
const WAIT_MS_MAX = 1_500;
/** How long an environment is known as slow after a late turn. */
const SLOW_MS = 60_000;
/** How long a round waits for a turn of an environment that is known as slow. */
const SLOW_WAIT_MS_MAX = 50;
/** Environments that are known as slow; those beyond are waited for again. */
const SLOW_MAX = 10_000;
/**
 * Late turns that go on beside the rounds. Each may hold the states of a row or of a stream. With
 * more of them, a round waits until one ends.
 */
export const LATE_TURNS_MAX = 4;
/**
 * While so many are late, environments that are known as slow are passed over. So there are places
 * left for turns that are late for the first time.
 */
export const SLOW_TURNS_MAX = 2;

export function openLateTurns(host: Host): LateTurns {
  /** By environment. */
  const late = new Map<number, Promise<void>>();
  const slowUntilMs = createRecentMap<number, number>(SLOW_MAX);
  let passedOver: number | undefined;
  let doneLate = 0;
  let failure: { readonly error: unknown } | undefined;

  function noteSlow(tenant: number): void {
    slowUntilMs.set(tenant, host.monotonicMs() + SLOW_MS);
  }

  function goOn(tenant: number, run: Promise<number>): void {
    const noteDone = (done: number) => void (doneLate += done);
    const noteFailure = (error: unknown) => void (failure ??= { error });
    const over = run.then(noteDone, noteFailure).then(() => {
      late.delete(tenant);
      noteSlow(tenant);
    });
    late.set(tenant, over);
  }

  return {
    inTurn(items, tenantOf) {
      const first = passedOver ?? -Infinity;
      passedOver = undefined;
      const isAhead = (item: typeof items[number]) => tenantOf(item) >= first;
      return [...items.filter(isAhead), ...items.filter((item) => !isAhead(item))];
    },
    async take(tenant, turn) {
      if (late.has(tenant)) return 0;
      const isSlow = host.monotonicMs() < (slowUntilMs.get(tenant) ?? -Infinity);
      if (isSlow && late.size >= SLOW_TURNS_MAX) {
        passedOver ??= tenant;
        noteSlow(tenant);
        return 0;
      }
      const run = turn();
      const done = await within(host, run, isSlow ? SLOW_WAIT_MS_MAX : WAIT_MS_MAX);
      if (done !== undefined) return done;
      goOn(tenant, run);
      if (late.size > LATE_TURNS_MAX) await Promise.race(late.values());
      return 0;
    },
    collect() {
      const known = failure;
      failure = undefined;
      if (known !== undefined) throw known.error;
      const done = doneLate;
      doneLate = 0;
      return done;
    },
    async settle() {
      await Promise.all(late.values());
    },
  };
}

/** What `run` resolves with; undefined if it takes longer than `ms`. */
async function within<T>(host: Host, run: Promise<T>, ms: number): Promise<T | undefined> {
  const over = Promise.withResolvers<undefined>();
  const cancel = host.startTimer(ms, () => over.resolve(undefined));
  return await Promise.race([run, over.promise]).finally(cancel);
}
