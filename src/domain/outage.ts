/**
 * How an outage of the store is told from a fault of ours: by the name of what was thrown, for no
 * layer above the store may import an engine. The names are those of `src/kv/engine.ts`.
 */

const OUTAGES: ReadonlySet<string> = new Set(["EngineUnavailable", "EngineClosed"]);

/** True when the store is away, so that the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && OUTAGES.has(error.name);
}
