/**
 * Loopback ports for servers of tests. Test processes run beside each other and with more of the
 * same kind, so a port that is merely free now may be somebody else's a moment later.
 */

import { tmpdir } from "node:os";
import { join } from "node:path";

/** Three in a row: production, staging and test. */
export interface Ports {
  readonly first: number;
  /** For others to take. */
  release(): void;
}

/** Free ones that no other test process is about to give to a server of its own. */
export function reservePorts(): Ports {
  const directory = join(tmpdir(), "daybook_test_ports");
  Deno.mkdirSync(directory, { recursive: true });
  for (let attempt = 0; attempt < 200; attempt++) {
    const first = 20_000 + 3 * Math.floor(Math.random() * 4_000);
    const file = Deno.openSync(join(directory, String(first)), { create: true, write: true });
    const release = () => file.close();
    if (file.tryLockSync(true) && [first, first + 1, first + 2].every(isFree)) {
      return { first, release };
    }
    release();
  }
  throw new Error("no three free ports in a row");
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch {
    return false;
  }
}
