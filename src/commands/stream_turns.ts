/** Turns on streams within this process: who has several takes all of them, or waits for all. */

export interface StreamTurns {
  /** Runs `body` while nobody else has a turn on any of these. */
  take(names: readonly string[], body: () => Promise<void>): Promise<void>;
}

export function openTurns(): StreamTurns {
  /** The end of the last turn that was asked for. */
  const ends = new Map<string, Promise<void>>();

  async function take(names: readonly string[], body: () => Promise<void>): Promise<void> {
    // All are asked for at once, so two who want the same ones cannot wait for each other.
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
