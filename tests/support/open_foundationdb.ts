/**
 * Opens FoundationDB's client in a process of `deno test`, where the thread that runs the tests is
 * not the main one: both end at once. The client's OpenSSL takes away at the exit of the process
 * what the end of a thread that used it still reads, so one process in some fifty crashed after its
 * last test. Such a process leaves out what libraries do at its exit. A server runs on its main
 * thread, which does both in turn.
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

/** What was registered last is called first: `_exit`, with the status of the process. */
function makeExitDirect(): void {
  const { symbols } = Deno.dlopen("libc.so.6", {
    dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
    on_exit: { parameters: ["pointer", "pointer"], result: "i32" },
  });
  const exit = symbols.dlsym(null, new TextEncoder().encode("_exit\0"));
  if (symbols.on_exit(exit, null) !== 0) throw new Error("on_exit took no handler");
}
