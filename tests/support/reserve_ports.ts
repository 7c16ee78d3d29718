/**
 * Reserves loopback ports for test servers. Test processes run side by side, so a port that is
 * free now may belong to another process a moment later.
 */

import { tmpdir } from "node:os";
import { join } from "node:path";

/** Three consecutive ports: production, staging and test. */
export interface Ports {
  readonly first: number;
  /** Gives the ports back for others to take. */
  release(): void;
}

/** Picks free ports that no other test process has reserved for a server of its own. */
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
