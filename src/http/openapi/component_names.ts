/**
 * Names of schemas in the document: plain, and such that no generator makes one name of two. Those
 * make types of them, and pass over case, dots and underscores.
 */

import type { Naming } from "../../domain/spec/schema/embed.ts";
import { ref } from "./schema.ts";

/** None of `taken` is given away. */
export function createNames(taken: Iterable<string>): Naming {
  /** What generators see of a name, to how often it was wanted. */
  const counts = new Map<string, number>();
  for (const name of taken) counts.set(seen(name), 1);

  function claim(wanted: string): string {
    const plain = wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_");
    // Each look ahead raises a count, so all of them together are few.
    for (;;) {
      const count = (counts.get(seen(plain)) ?? 0) + 1;
      counts.set(seen(plain), count);
      if (count === 1) return plain;
      const next = `${plain}_${count}`;
      if (counts.has(seen(next))) continue;
      counts.set(seen(next), 1);
      return next;
    }
  }

  return { claim, refTo: (name) => ref(name).$ref as string };
}

function seen(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, "").toLowerCase();
}
