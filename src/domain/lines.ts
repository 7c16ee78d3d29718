/** Work of the same name is done one after the other, an instance's say; that of others goes on. */

export interface Lines {
  /** Begins when all work of that name before it has ended. */
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
