/** How many of one kind of work may be under way for each name, an instance say. */

export interface Places {
  /** False where there are as many as may be; else one more, until `leave`. */
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
