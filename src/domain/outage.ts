/**
 * Tells an outage of the store from a bug of ours, by the name of the error.
 *
 * The name decides, because layers above the store may not import an engine. The names are
 * those in `src/kv/engine.ts`.
 */

const OUTAGES: ReadonlySet<string> = new Set(["EngineUnavailable", "EngineClosed"]);

/** True when the store is unreachable, so that the same call may succeed later. */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && OUTAGES.has(error.name);
}
