/**
 * Room for events of the service itself between their preparation and their commit. However much
 * waits to be done, so many bytes of it are prepared at a time, two milliseconds in a row, and
 * environments take turns: so a backlog neither fills the memory nor holds the thread, and what one
 * environment has set off does not stand before what others have.
 */

import { openFairLine } from "../domain/fair_line.ts";
import { limits } from "../domain/limits.ts";
import { openTurnPiece, PIECE_MS_MAX, type Turns } from "../domain/pieces.ts";
import { openShares } from "../domain/shares.ts";

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

/** In one turn: to commit what was prepared takes three times as long, in the same turn. */
const PREPARING_MS_MAX = PIECE_MS_MAX / 2;
/** What counts for a preparation that takes its time, as those do that ask modules. */
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
