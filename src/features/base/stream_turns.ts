/**
 * Serializes work on streams within this process. Work that needs several streams waits for all
 * of them and takes all of them.
 */

export interface StreamTurns {
  /** Runs `body` while nobody else has a turn on any of these names. */
  take(names: readonly string[], body: () => Promise<void>): Promise<void>;
}

export function openStreamTurns(): StreamTurns {
  /** By name: the end of the last turn that was requested. */
  const ends = new Map<string, Promise<void>>();

  async function take(names: readonly string[], body: () => Promise<void>): Promise<void> {
    // All are requested at once, so two turns that want the same names cannot deadlock.
    const before = names.map((name) => ends.get(name));
    const { promise: end, resolve } = Promise.withResolvers<void>();
    for (const name of names) ends.set(name, end);
    try {
      await Promise.all(before);
      await body();
    } finally {
      for (const name of names) if (ends.get(name) === end) ends.delete(name);
      resolve();
    }
  }

  return { take };
}
