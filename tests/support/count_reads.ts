/** An engine that tells whether something is being read. */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";

export interface CountedReads {
  readonly engine: Engine;
  /** Whether a snapshot is under way, however long the store takes for it. */
  isReading(): boolean;
}

export function countReads(inner: Engine): CountedReads {
  let reading = 0;
  const engine = wrapEngine(inner, {
    snapshot(body, options) {
      reading++;
      return inner.snapshot(body, options).finally(() => reading--);
    },
  });
  return { engine, isReading: () => reading > 0 };
}
