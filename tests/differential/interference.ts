/**
 * Makes one write of a trace wait or fail. Only the transaction that writes a tenant's events is
 * stopped. A process that shares its store also runs transactions of its own beside a request, to
 * take part of a rate limit say. Stopping one of those would not be what the trace asks for, and
 * a request that needs its result could wait for ever.
 */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";

/** What the next write does instead of running at once. */
export type Interference =
  | { readonly kind: "fail"; readonly error: Error }
  | { readonly kind: "wait"; readonly reached: () => void; readonly until: Promise<void> };

/** The engine, with `next` asked before each transaction that is a tenant's work. */
export function interfering(inner: Engine, next: () => Interference | undefined): Engine {
  return wrapEngine(inner, {
    async transact(body, options) {
      const planned = options?.owner === undefined ? undefined : next();
      if (planned?.kind === "fail") throw planned.error;
      if (planned?.kind === "wait") {
        planned.reached();
        await planned.until;
      }
      return await inner.transact(body, options);
    },
  });
}
