/**
 * A process that uses FoundationDB and prints its number of threads. It prints one line of
 * JSON: the number with the store open, with it closed, and when the process ends. Its argument
 * is the cluster file.
 */

import { openFoundationdbEngine } from "../../src/kv/foundationdb/binding.ts";
import { systemHost } from "../../src/host.ts";

const THREAD_NAMES = "/proc/self/task";

function threads(): number {
  return [...Deno.readDirSync(THREAD_NAMES)].length;
}

const engine = await openFoundationdbEngine({ clusterFile: Deno.args[0], host: systemHost() });
const open = threads();
await engine.close();
const closed = threads();
const again = await openFoundationdbEngine({ clusterFile: Deno.args[0], host: systemHost() });
await again.snapshot((tx) => tx.readVersion());
await again.close();
globalThis.dispatchEvent(new Event("unload"));
console.log(JSON.stringify({ open, closed, ended: threads() }));
Deno.exit(0);
