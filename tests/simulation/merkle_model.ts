/** Merkle trees, implemented a second time. See docs/reference/audit.md. */

import { createHash } from "node:crypto";

/** The root over at least one hash; all in lowercase hex. */
export function treeRoot(values: readonly string[]): string {
  let level = values.map((value) => hashOf("00", value));
  while (level.length > 1) {
    const above: string[] = [];
    for (let at = 0; at < level.length; at += 2) {
      above.push(hashOf("01", level[at]! + (level[at + 1] ?? level[at]!)));
    }
    level = above;
  }
  return level[0]!;
}

function hashOf(prefix: string, hex: string): string {
  return createHash("sha256").update(prefix + hex, "hex").digest("hex");
}
