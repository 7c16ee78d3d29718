/**
 * Queues work by name: work of one name, such as an instance, runs one at a time.
 *
 * Work of other names goes on meanwhile.
 */

export interface Lines {
  /** Runs `work` when all earlier work of that name has ended. */
  inLine<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export function openLines(): Lines {
  const last = new Map<string, Promise<unknown>>();
  return {
    inLine(name, work) {
      const done = (last.get(name) ?? Promise.resolve()).then(work);
      const end = done.catch(() => {}).finally(() => {
        if (last.get(name) === end) last.delete(name);
      });
      last.set(name, end);
      return done;
    },
  };
}
