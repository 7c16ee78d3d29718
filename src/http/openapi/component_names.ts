/**
 * Chooses names of schemas that no code generator confuses with each other.
 *
 * Generators turn the names into types, and ignore case, dots and underscores.
 */

import type { Naming } from "../../domain/spec/schema/embed.ts";
import { ref } from "./schema.ts";

/** Returns none of the names in `taken`. */
export function createNames(taken: Iterable<string>): Naming {
  /** The form of a name that generators see, and how often it was requested. */
  const counts = new Map<string, number>();
  for (const name of taken) counts.set(seen(name), 1);

  function claim(wanted: string): string {
    const plain = wanted.replaceAll(/[^A-Za-z0-9._-]/g, "_");
    // Each iteration raises a count, so their total is small.
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
