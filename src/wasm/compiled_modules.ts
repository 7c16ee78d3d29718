/**
 * Keeps compiled modules by digest, each with a memory to run in. Those used last are kept, as
 * many as fit.
 *
 * A memory is wiped and used again, because a new one costs more than all else in a call. A
 * memory that has grown, or that is large to begin with, is left to the garbage collector.
 */

import { memoryOfKept } from "../domain/wasm/rewrite_module.ts";

export interface CompiledModule {
  readonly module: WebAssembly.Module;
  /** A memory as the module expects it at its start. Throws if none can be allocated. */
  takeMemory(): WebAssembly.Memory;
  /** Called after the call; returns the bytes that are left to the garbage collector. */
  giveBack(memory: WebAssembly.Memory): number;
  /**
   * Whether its calls have ended in time so often that it is run without the costly
   * interruption. A call that then does not end costs its runner.
   */
  isProven(): boolean;
  noteEnd(isInTime: boolean): void;
}

export interface CompiledModules {
  get(digest: string): CompiledModule | undefined;
  /** `bytes` is the kept form of the module, from which `module` was compiled. */
  add(digest: string, module: WebAssembly.Module, bytes: Uint8Array): void;
}

/** This many calls in a row must end in time before a module counts as proven. */
const PROVEN_CALLS = 100;
/** What even a small module costs beside its bytes. */
const OVERHEAD_BYTES = 16 * 1024;
const PAGE_BYTES = 64 * 1024;
/** With more pages than this, a new memory is cheaper than wiping the old one. */
const REUSED_PAGES_MAX = 32;

/** @param bytesMax limit in bytes of the kept modules and the memories held for them. */
export function compiledModules(bytesMax: number): CompiledModules {
  // A Map keeps the order of insertion: its first entry was used longest ago.
  const kept = new Map<string, { readonly compiled: CompiledModule; readonly bytes: number }>();
  let total = 0;

  function remove(digest: string): void {
    total -= kept.get(digest)?.bytes ?? 0;
    kept.delete(digest);
  }

  return {
    get(digest) {
      const found = kept.get(digest);
      if (found === undefined) return undefined;
      kept.delete(digest);
      kept.set(digest, found);
      return found.compiled;
    },
    add(digest, module, moduleBytes) {
      remove(digest);
      const { initial, maximum } = memoryOfKept(moduleBytes);
      const held = initial <= REUSED_PAGES_MAX ? initial * PAGE_BYTES : 0;
      const bytes = moduleBytes.length + held + OVERHEAD_BYTES;
      kept.set(digest, { compiled: withMemory(module, initial, maximum), bytes });
      total += bytes;
      for (const oldest of kept.keys()) {
        if (total <= bytesMax || oldest === digest) break;
        remove(oldest);
      }
    },
  };
}

function withMemory(
  module: WebAssembly.Module,
  initial: number,
  maximum: number,
): CompiledModule {
  let spare: WebAssembly.Memory | undefined;
  let callsInTime = 0;
  return {
    module,
    isProven: () => callsInTime >= PROVEN_CALLS,
    noteEnd(isInTime) {
      callsInTime = isInTime ? callsInTime + 1 : 0;
    },
    takeMemory() {
      const memory = spare ?? new WebAssembly.Memory({ initial, maximum });
      if (spare !== undefined) new Uint8Array(memory.buffer).fill(0);
      spare = undefined;
      return memory;
    },
    giveBack(memory) {
      const { byteLength } = memory.buffer;
      const isAsBefore = byteLength === initial * PAGE_BYTES;
      if (!isAsBefore || initial > REUSED_PAGES_MAX) return byteLength;
      spare = memory;
      return 0;
    },
  };
}
