/** Compiled modules by digest, the ones used last; bounded by the bytes they were compiled from. */

export interface CompiledModules {
  get(digest: string): WebAssembly.Module | undefined;
  /** `bytes` is the size of what it was compiled from. */
  add(digest: string, module: WebAssembly.Module, bytes: number): void;
}

/** What a small module costs beside its bytes. */
const OVERHEAD_BYTES = 16 * 1024;

export function compiledModules(bytesMax: number): CompiledModules {
  // A Map is in order of insertion: the first was used longest ago.
  const kept = new Map<string, { readonly module: WebAssembly.Module; readonly bytes: number }>();
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
      return found.module;
    },
    add(digest, module, bytes) {
      remove(digest);
      kept.set(digest, { module, bytes: bytes + OVERHEAD_BYTES });
      total += bytes + OVERHEAD_BYTES;
      for (const oldest of kept.keys()) {
        if (total <= bytesMax || oldest === digest) break;
        remove(oldest);
      }
    },
  };
}
