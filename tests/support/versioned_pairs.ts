/**
 * Key-value pairs that can be read as of any version that is not forgotten yet. The cost of a
 * set does not depend on the number of pairs: tests write tens of thousands of small commits.
 */

import type { Bytes } from "../../src/kv/engine.ts";

interface Version {
  readonly version: bigint;
  /** Undefined if the key was cleared. */
  readonly value: Bytes | undefined;
}

export interface VersionedPairs {
  /** The value of the key at the version. */
  get(text: string, version: bigint): Bytes | undefined;
  /** Versions of one key must only grow. */
  set(text: string, version: bigint, value: Bytes | undefined): void;
  /** The sorted keys of `[begin, end)` that exist in any kept version. */
  between(range: { readonly begin: string; readonly end: string }): string[];
  /** From now on nobody reads at a version before this one. */
  forget(before: bigint): void;
}

export function versionedPairs(): VersionedPairs {
  const versionsOf = new Map<string, Version[]>();
  const sorted: string[] = [];

  /** Index of the first key that is not before `text`. */
  function placeOf(text: string): number {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    get: (text, at) => versionsOf.get(text)?.findLast(({ version }) => version <= at)?.value,
    set(text, version, value) {
      const versions = versionsOf.get(text);
      if (versions === undefined) {
        if (value === undefined) return;
        versionsOf.set(text, [{ version, value }]);
        sorted.splice(placeOf(text), 0, text);
      } else {
        if (versions.at(-1)!.version === version) versions.pop();
        versions.push({ version, value });
      }
    },
    between: ({ begin, end }) => sorted.slice(placeOf(begin), placeOf(end)),
    forget(before) {
      let kept = 0;
      for (const text of sorted) {
        const versions = versionsOf.get(text)!;
        const first = versions.findLastIndex(({ version }) => version <= before);
        if (first > 0) versions.splice(0, first);
        if (versions.length === 1 && versions[0]!.value === undefined) versionsOf.delete(text);
        else sorted[kept++] = text;
      }
      sorted.length = kept;
    },
  };
}
