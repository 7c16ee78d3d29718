/**
 * Moves sagas on, those of one environment one transaction after the other: sagas that wait for the
 * same streams would only get in each other's way. What arrives meanwhile shares the next one.
 */

import type { OutboxWork } from "../domain/reaction/outbox_entry.ts";
import type { SagaAdvancer, SagaCause } from "./advance_sagas.ts";
import { isOutage } from "../domain/outage.ts";

export interface SagaLanes {
  /**
   * Resolves with true when all that the cause has set off is done, with false when it is left for
   * another time. Throws outages, and what this cause alone has thrown.
   */
  move(tenant: number, cause: SagaCause): Promise<boolean>;
}

/** Causes that share a transaction at most. */
const CAUSES_MAX = 100;
/** Transactions in a row for one cause that concerns very many sagas; the workers go on with it. */
const TURNS_MAX = 20;

interface Waiting {
  readonly cause: SagaCause;
  readonly resolve: (isDone: boolean) => void;
  readonly reject: (error: unknown) => void;
  turns: number;
}

/** `follow` does what the sagas' own events have left in the outbox. */
export function openSagaLanes(
  sagas: SagaAdvancer,
  ownWaitMs: (tenant: number) => number,
  follow: (works: readonly OutboxWork[]) => Promise<void>,
): SagaLanes {
  const lanes = new Map<number, Waiting[]>();

  function move(tenant: number, cause: SagaCause): Promise<boolean> {
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
    // Others of the same turn come along.
    await Promise.resolve();
    while (lane.length > 0) {
      const left = await moveBatch(tenant, lane.splice(0, CAUSES_MAX));
      lane.unshift(...left);
    }
    lanes.delete(tenant);
  }

  /** Gives those for which there was no room. Never throws. */
  async function moveBatch(tenant: number, batch: readonly Waiting[]): Promise<Waiting[]> {
    const waitMs = ownWaitMs(tenant);
    try {
      const causes = batch.map(({ cause }) => cause);
      const { done, outbox } = await sagas.advance(tenant, causes, waitMs);
      const following = waitMs > 0 && outbox.length > 0 ? follow(outbox) : Promise.resolve();
      for (const { resolve, reject } of batch.slice(0, done)) {
        following.then(() => resolve(true), reject);
      }
      // Where nobody waits for it, the workers find what an outage has left.
      following.catch(() => {});
      const [first, ...rest] = batch.slice(done);
      if (first === undefined || done > 0 || mayGoOn(first)) return batch.slice(done);
      first.resolve(false);
      return rest;
    } catch (error) {
      return await moveEach(tenant, batch, error);
    }
  }

  /** What one cause throws is not the others' business. */
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

/** An event is told to so many sagas at a time; a timer that is not over is not due. */
function mayGoOn(waiting: Waiting): boolean {
  return waiting.cause.kind === "event" && ++waiting.turns < TURNS_MAX;
}
