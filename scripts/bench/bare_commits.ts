/**
 * The least that a write on a cluster may cost: a key is read, and set to its next number, through
 * the package alone.
 */

const API_VERSION = 720;
const WARM_UP = 100;

/** The time of each of `count` transactions, one after the other, in milliseconds. */
export async function measureCommits(clusterFile: string, count: number): Promise<number[]> {
  // The package needs its native library as soon as it is loaded.
  const { default: fdb } = await import("foundationdb");
  fdb.setAPIVersion(API_VERSION);
  const database = fdb.open(clusterFile);
  const key = "bench/bare";
  const times: number[] = [];
  try {
    for (let number = 0; number < WARM_UP + count; number++) {
      const startedMs = performance.now();
      await database.doTransaction(async (tx) => {
        const before = await tx.get(key);
        const next = before === undefined ? 1 : Number(before.toString()) + 1;
        tx.set(key, String(next));
      });
      if (number >= WARM_UP) times.push(performance.now() - startedMs);
    }
  } finally {
    database.close();
  }
  return times;
}
