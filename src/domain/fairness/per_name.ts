/**
 * Limits work by a name, such as that of an instance: one at a time, or some at a time. Work of
 * other names goes on meanwhile.
 */

import { TextMap } from "../lookup/text_map.ts";

export interface Lines {
  /** Runs `work` when all earlier work of that name has ended. */
  inLine<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export function openLines(): Lines {
  const last = new TextMap<Promise<unknown>>();
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

/** Caps how much work may be under way for each name, and for all of them. */
export interface Places {
  /** False when the name, or all are at the limit; otherwise takes one place until `leave`. */
  enter(name: string): boolean;
  leave(name: string): void;
}

export function openPlaces(placesMax: number, allMax = Infinity): Places {
  const taken = new TextMap<number>();
  let all = 0;
  return {
    enter(name) {
      const count = taken.get(name) ?? 0;
      if (count >= placesMax || all >= allMax) return false;
      taken.set(name, count + 1);
      all++;
      return true;
    },
    leave(name) {
      const count = taken.get(name)! - 1;
      all--;
      if (count === 0) taken.delete(name);
      else taken.set(name, count);
    },
  };
}
