/**
 * Puts something before the calls of an engine. The methods of an engine are bound to it, so they
 * do not survive a spread; this is the one place that passes all of them on.
 */

import type { Engine } from "./engine.ts";

/** An engine that does what `inner` does, except for the methods in `own`. */
export function wrapEngine(inner: Engine, own: Partial<Engine>): Engine {
  return {
    capabilities: inner.capabilities,
    transact: (body, options) => inner.transact(body, options),
    snapshot: (body, options) => inner.snapshot(body, options),
    durableVersion: () => inner.durableVersion(),
    watch: (key) => inner.watch(key),
    measure: () => inner.measure(),
    forget: () => inner.forget(),
    failure: () => inner.failure(),
    untilBroken: () => inner.untilBroken(),
    close: () => inner.close(),
    ...own,
  };
}
