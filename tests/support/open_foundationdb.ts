/**
 * Opens FoundationDB's client in a `deno test` process and makes that process exit directly.
 * `deno test` runs tests on a thread other than the main one, and both end at once. At process
 * exit the client's OpenSSL frees data that an ending thread still reads, so such a process
 * sometimes crashed after its last test. The direct exit skips what libraries do at process
 * exit. A server is not affected: it uses the client on its main thread, where both happen in
 * turn.
 */

import type { Engine } from "../../src/kv/engine.ts";
import {
  type FoundationdbOptions,
  openFoundationdbEngine,
} from "../../src/kv/foundationdb/binding.ts";

let isExitDirect = false;

export async function openFoundationdb(options: FoundationdbOptions): Promise<Engine> {
  const engine = await openFoundationdbEngine(options);
  if (!isExitDirect && Deno.build.os === "linux") makeExitDirect();
  isExitDirect = true;
  return engine;
}

/**
 * Exit handlers run in reverse order of registration: this one calls `_exit` with the process
 * status.
 */
function makeExitDirect(): void {
  const { symbols } = Deno.dlopen("libc.so.6", {
    dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
    on_exit: { parameters: ["pointer", "pointer"], result: "i32" },
  });
  const exit = symbols.dlsym(null, new TextEncoder().encode("_exit\0"));
  if (symbols.on_exit(exit, null) !== 0) throw new Error("on_exit took no handler");
}
