/** In which order and how many pages of the log and of streams are read for those who ask. */

import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { type BriefTurns, openPieces } from "../../domain/fairness/pieces.ts";

/**
 * Pages of one environment that are read at a time. Each holds what it reads, and a reader that
 * waits for its turn holds nothing; thousands may be woken by one commit.
 */
const PAGES_AT_ONCE = 4;
const REMOTE_PAGES_AT_ONCE = 8;

export interface PageTurns {
  run<T>(tenant: number, read: () => Promise<T>): Promise<T>;
}

/**
 * However many pages are wanted at the same moment, they begin one after another, as many as fit
 * into one time slice. `isRemote`: a read waits for a network, so the next may begin meanwhile.
 */
export function openPageTurns(
  host: Pick<BriefTurns, "monotonicMs" | "yieldTurn" | "yieldBriefly">,
  isRemote: boolean,
): PageTurns {
  const atOnceMax = isRemote ? REMOTE_PAGES_AT_ONCE : PAGES_AT_ONCE;
  const running = new Map<number, number>();
  const line = openFairLine<number>();
  let isMoving = false;
  let turn: Promise<void> | undefined;
  let latest: Promise<unknown> | undefined;

  function hasPlace(tenant: number): boolean {
    return (running.get(tenant) ?? 0) < atOnceMax;
  }

  async function move(): Promise<void> {
    isMoving = true;
    const pieces = openPieces(host);
    for (let begin; (begin = line.take(hasPlace)) !== undefined;) {
      begin();
      turn ??= host.yieldBriefly().then(() => turn = undefined);
      // A long read goes on in slices of its own, and a failure is for who asked.
      if (!isRemote) await Promise.race([latest!.catch(() => {}), turn]);
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
    isMoving = false;
  }

  async function inPlace<T>(tenant: number, read: () => Promise<T>): Promise<T> {
    running.set(tenant, (running.get(tenant) ?? 0) + 1);
    try {
      return await read();
    } finally {
      const left = running.get(tenant)! - 1;
      if (left === 0) running.delete(tenant);
      else running.set(tenant, left);
      if (!isMoving) void move();
    }
  }

  return {
    run: (tenant, read) =>
      new Promise((resolve) => {
        line.push(tenant, () => resolve(latest = inPlace(tenant, read)));
        if (!isMoving) void move();
      }),
  };
}
