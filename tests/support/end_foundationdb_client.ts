/**
 * A process that has used FoundationDB: how many threads it has with its store open, closed, and
 * when it ends, as one line of JSON. Its argument is the cluster file.
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
