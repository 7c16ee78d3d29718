/** Caps how much work of one kind may be under way for each name, such as an instance. */

export interface Places {
  /** False when the name is at its limit; otherwise takes one place until `leave`. */
  enter(name: string): boolean;
  leave(name: string): void;
}

export function openPlaces(placesMax: number): Places {
  const taken = new Map<string, number>();
  return {
    enter(name) {
      const count = taken.get(name) ?? 0;
      if (count >= placesMax) return false;
      taken.set(name, count + 1);
      return true;
    },
    leave(name) {
      const count = taken.get(name)! - 1;
      if (count === 0) taken.delete(name);
      else taken.set(name, count);
    },
  };
}
