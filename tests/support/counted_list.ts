/** A long list that tells how many of its elements were read. */

import type { JsonValue } from "../../src/domain/json.ts";

export interface CountedList {
  readonly list: JsonValue[];
  /** Elements that have been read so far. */
  reads(): number;
}

export function countedList(element: JsonValue, length = 1_000_000): CountedList {
  let count = 0;
  const list = new Proxy(Array<JsonValue>(length).fill(element), {
    get(target, name) {
      if (typeof name === "string" && /^\d/.test(name)) count++;
      return Reflect.get(target, name);
    },
    // Copies, as those of `Object.values`, read the descriptors.
    getOwnPropertyDescriptor(target, name) {
      count++;
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
  return { list, reads: () => count };
}
