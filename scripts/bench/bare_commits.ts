/**
 * The least that a write on a cluster may cost: a key is read, and set to its next number, through
 * the package alone.
 */

import { untilTime } from "./open_loop.ts";

const API_VERSION = 720;
const KEY = "bench/bare";

export interface BareCommits {
  /** One transaction. */
  run(): Promise<void>;
  close(): void;
}

export async function openBareCommits(clusterFile: string): Promise<BareCommits> {
  // The package needs its native library as soon as it is loaded.
  const { default: fdb } = await import("foundationdb");
  fdb.setAPIVersion(API_VERSION);
  const database = fdb.open(clusterFile);
  return {
    run: () =>
      database.doTransaction(async (tx) => {
        const before = await tx.get(KEY);
        const next = before === undefined ? 1 : Number(before.toString()) + 1;
        tx.set(KEY, String(next));
      }),
    close: () => database.close(),
  };
}

/** The time of each of `count` transactions, with a pause after each; in milliseconds. */
export async function measureCommits(
  { run }: BareCommits,
  { count, pauseMs }: { readonly count: number; readonly pauseMs: number },
): Promise<number[]> {
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const startedMs = performance.now();
    await run();
    const endedMs = performance.now();
    times.push(endedMs - startedMs);
    if (pauseMs > 0) await untilTime(endedMs + pauseMs);
  }
  return times;
}
