/**
 * Room for events of the service itself between their preparation and their commit. However much
 * waits to be done, so many bytes of it are prepared at a time, a few milliseconds in a row, and
 * environments take turns: so a backlog neither fills the memory nor holds the thread, and what one
 * environment has set off does not stand before what others have.
 */

import { openShares } from "../domain/byte_shares.ts";
import { limits } from "../domain/limits.ts";
import { PIECE_MS_MAX, type Turns } from "../domain/pieces.ts";

export interface EmissionRoom {
  /**
   * Calls `prepare` as soon as there is room, and `use` with what it gives. The room is taken until
   * `use` has ended, for as many bytes as `sizeOf` says.
   */
  enter<Prepared, Result>(tenant: number, visit: Visit<Prepared, Result>): Promise<Result>;
}

export interface Visit<Prepared, Result> {
  prepare(): Prepared | Promise<Prepared>;
  sizeOf(prepared: Prepared): number;
  use(prepared: Prepared): Promise<Result>;
}

/** What counts for a preparation that takes its time, as those do that ask modules. */
const PREPARING_BYTES = 64 * 1024;

export function openEmissionRoom(
  turns: Turns,
  bytesMax: number = limits.preparedEmissionBytesMax,
): EmissionRoom {
  const taken = openShares(bytesMax);
  /** What waits, by tenant; the first tenant's turn is next. */
  const waiting = new Map<number, (() => void)[]>();
  /** When the piece of this turn of the event loop began; undefined before its first step. */
  let sinceMs: number | undefined;

  function isPieceOver(): boolean {
    return sinceMs !== undefined && turns.monotonicMs() - sinceMs >= PIECE_MS_MAX;
  }

  function begin(start: () => void): void {
    if (sinceMs === undefined) {
      sinceMs = turns.monotonicMs();
      turns.yieldTurn().then(() => {
        sinceMs = undefined;
        startWaiting();
      });
    }
    start();
  }

  function startWaiting(): void {
    for (;;) {
      const start = isPieceOver() ? undefined : takeNext();
      if (start === undefined) return;
      begin(start);
    }
  }

  /** Of the first tenant that has room, who then is the last. */
  function takeNext(): (() => void) | undefined {
    for (const [tenant, queue] of waiting) {
      if (taken.isFull(tenant)) continue;
      const start = queue.shift()!;
      waiting.delete(tenant);
      if (queue.length > 0) waiting.set(tenant, queue);
      return start;
    }
    return undefined;
  }

  function enter<Prepared, Result>(
    tenant: number,
    visit: Visit<Prepared, Result>,
  ): Promise<Result> {
    if (!waiting.has(tenant) && !isPieceOver() && !taken.isFull(tenant)) {
      let result: Promise<Result>;
      begin(() => result = stay(tenant, visit));
      return result!;
    }
    return new Promise((resolve, reject) => {
      const queue = waiting.get(tenant) ?? [];
      waiting.set(tenant, queue);
      queue.push(() => stay(tenant, visit).then(resolve, reject));
    });
  }

  async function stay<Prepared, Result>(
    tenant: number,
    { prepare, sizeOf, use }: Visit<Prepared, Result>,
  ): Promise<Result> {
    let bytes = PREPARING_BYTES;
    taken.add(tenant, bytes);
    try {
      const made = prepare();
      const prepared = made instanceof Promise ? await made : made;
      taken.add(tenant, sizeOf(prepared) - bytes);
      bytes = sizeOf(prepared);
      return await use(prepared);
    } finally {
      taken.add(tenant, -bytes);
      startWaiting();
    }
  }

  return { enter };
}
