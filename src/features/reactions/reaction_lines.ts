/**
 * The lines in which reactions are processed: sagas of one environment one transaction after the
 * other, outbox entries some at a time. See docs/internals/reactions.md.
 */

import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { openShares } from "../../domain/fairness/shares.ts";
import { retryPauseMs } from "../../domain/reaction/outbox_entry.ts";
import type { Host } from "../../host.ts";
import type { Timer } from "../../store/timers.ts";
import type { OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import type { SagaAdvancer, SagaCause } from "../sagas/advance_sagas.ts";
import { isOutage } from "../../domain/outage.ts";

/**
 * Advances the sagas of an environment in one transaction after the other. Run in parallel,
 * sagas that wait for the same streams would only conflict. Causes that arrive meanwhile share
 * the next transaction.
 */
export interface SagaLanes {
  /** Resolves when the cause is committed. Throws outages and errors of this cause alone. */
  move(tenant: number, cause: SagaCause): Promise<Moved>;
}

export interface Moved {
  /** False when the cause is left for another time. */
  readonly isDone: boolean;
  /** Resolves when everything that it sets off is done. Rejects with an outage. */
  readonly following: Promise<void>;
}

/** Causes that share a transaction at most. */
const CAUSES_MAX = 100;
/**
 * Consecutive transactions for one cause that concerns very many sagas. After that the workers
 * continue with it.
 */
const TURNS_MAX = 20;

interface Waiting {
  readonly cause: SagaCause;
  readonly resolve: (moved: Moved) => void;
  readonly reject: (error: unknown) => void;
  turns: number;
}

/** `follow` processes what the sagas' own events have left in the outbox. */
export function openSagaLanes(
  sagas: SagaAdvancer,
  ownWaitMs: (tenant: number) => number,
  follow: (works: readonly OutboxWork[]) => Promise<void>,
): SagaLanes {
  const lanes = new Map<number, Waiting[]>();

  function move(tenant: number, cause: SagaCause): Promise<Moved> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { cause, resolve, reject, turns: 0 };
      const lane = lanes.get(tenant);
      if (lane !== undefined) return void lane.push(waiting);
      const opened = [waiting];
      lanes.set(tenant, opened);
      run(tenant, opened);
    });
  }

  async function run(tenant: number, lane: Waiting[]): Promise<void> {
    // Causes of the same turn join this one.
    await Promise.resolve();
    while (lane.length > 0) {
      const left = await moveBatch(tenant, lane.splice(0, CAUSES_MAX));
      lane.unshift(...left);
    }
    lanes.delete(tenant);
  }

  /** Returns the causes that did not fit. Never throws. */
  async function moveBatch(tenant: number, batch: readonly Waiting[]): Promise<Waiting[]> {
    const waitMs = ownWaitMs(tenant);
    try {
      const causes = batch.map(({ cause }) => cause);
      const { done, outbox } = await sagas.advance(tenant, causes, waitMs);
      const following = waitMs > 0 && outbox.length > 0 ? follow(outbox) : Promise.resolve();
      for (const { resolve } of batch.slice(0, done)) resolve({ isDone: true, following });
      // If nobody awaits it, the workers find what an outage has left.
      following.catch(() => {});
      const [first, ...rest] = batch.slice(done);
      if (first === undefined || done > 0 || mayGoOn(first)) return batch.slice(done);
      first.resolve({ isDone: false, following });
      return rest;
    } catch (error) {
      return await moveEach(tenant, batch, error);
    }
  }

  /** An error of one cause must not affect the others. */
  async function moveEach(
    tenant: number,
    batch: readonly Waiting[],
    error: unknown,
  ): Promise<Waiting[]> {
    if (batch.length === 1 || isOutage(error)) {
      for (const { reject } of batch) reject(error);
      return [];
    }
    const left: Waiting[] = [];
    for (const waiting of batch) left.push(...await moveBatch(tenant, [waiting]));
    return left;
  }

  return { move };
}

/**
 * Whether a cause that is not done is tried again. Only an event is, because it is shown to a
 * limited number of sagas at a time; a timer that is not done is not due.
 */
function mayGoOn(waiting: Waiting): boolean {
  return waiting.cause.kind === "event" && ++waiting.turns < TURNS_MAX;
}

/** Returns how many of the timers are done or were postponed. Throws only outages. */
type SagaTimers = (timers: readonly Timer[]) => Promise<number>;

/** Tells sagas that their time is over. A timer whose saga fails is tried again, ever later. */
export function openSagaTimers(host: Host, sagas: SagaAdvancer, lanes: SagaLanes): SagaTimers {
  async function fireOne(timer: Timer): Promise<boolean> {
    try {
      const { isDone, following } = await lanes.move(timer.tenant, { kind: "timer", timer });
      await following;
      return isDone;
    } catch (error) {
      if (isOutage(error)) throw error;
      await putOff(timer, error);
      return true;
    }
  }

  async function putOff(timer: Timer, error: unknown): Promise<void> {
    const { tenant, id } = timer;
    const reason = error instanceof Error ? error.message : String(error);
    const share = host.randomBytes(1)[0]! / 256;
    const tries = await sagas.postpone(timer, reason, (tries) => retryPauseMs(tries, share));
    const fields = { tenant, saga_id: id, tries, reason };
    host.log("error", "A saga could not be told that its time is over", fields);
  }

  return async (timers) => {
    const results = await Promise.allSettled(timers.map(fireOne));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return results.filter((result) => result.status === "fulfilled" && result.value).length;
  };
}

/**
 * The line in which outbox entries are processed, however many there are. An entry in line takes
 * little more memory than itself, while one being processed takes kilobytes. So only some are
 * processed at a time, and environments take turns.
 */
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
