/**
 * Limits the events of the service itself that are between preparation and commit. However
 * large the backlog, only so many bytes are prepared at a time, for two milliseconds in a row,
 * and environments take turns. So a backlog neither fills the memory nor blocks the thread, and
 * one environment's reactions do not hold up those of others.
 */

import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { limits } from "../../domain/limits.ts";
import { openTurnPiece, PIECE_MS_MAX, type Turns } from "../../domain/fairness/pieces.ts";
import { openShares } from "../../domain/fairness/shares.ts";

export interface EmissionRoom {
  /**
   * Calls `prepare` as soon as there is room, then `use` with its result. Until `use` has
   * ended, the visit occupies as many bytes as `sizeOf` returns.
   */
  enter<Prepared, Result>(tenant: number, visit: Visit<Prepared, Result>): Promise<Result>;
}

export interface Visit<Prepared, Result> {
  prepare(): Prepared | Promise<Prepared>;
  sizeOf(prepared: Prepared): number;
  use(prepared: Prepared): Promise<Result>;
}

/**
 * Preparation time in one turn. Committing the result takes three times as long, in the same
 * turn.
 */
const PREPARING_MS_MAX = PIECE_MS_MAX / 2;
/** What a preparation counts while it runs: one that asks modules takes its time. */
const PREPARING_BYTES = 64 * 1024;

export function openEmissionRoom(
  turns: Turns,
  bytesMax: number = limits.preparedEmissionBytesMax,
): EmissionRoom {
  const taken = openShares(bytesMax);
  const line = openFairLine<number>();
  const piece = openTurnPiece(turns, PREPARING_MS_MAX, startWaiting);

  function startWaiting(): void {
    while (!piece.isOver()) {
      const start = line.take((tenant) => !taken.isFull(tenant));
      if (start === undefined) return;
      piece.begin();
      start();
    }
  }

  function enter<Prepared, Result>(
    tenant: number,
    visit: Visit<Prepared, Result>,
  ): Promise<Result> {
    if (line.isEmpty(tenant) && !piece.isOver() && !taken.isFull(tenant)) {
      piece.begin();
      return stay(tenant, visit);
    }
    return new Promise((resolve, reject) => {
      line.push(tenant, () => void stay(tenant, visit).then(resolve, reject));
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
