/** An engine on which every write to one key fails, as a bug would: not an outage. */

import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Engine, Transaction } from "../../src/kv/engine.ts";

/** A transaction throws when it sets a key that contains `text()`; undefined poisons none. */
export function poisonedEngine(inner: Engine, text: () => string | undefined): Engine {
  const decoder = new TextDecoder();

  function check(key: Bytes): void {
    const poison = text();
    if (poison !== undefined && decoder.decode(key).includes(poison)) throw new Error("poison");
  }

  function poisoned(tx: Transaction): Transaction {
    return {
      unguarded: tx.unguarded,
      get: (key) => tx.get(key),
      getRange: (range, options) => tx.getRange(range, options),
      readVersion: () => tx.readVersion(),
      set(key, value) {
        check(key);
        tx.set(key, value);
      },
      clear: (key) => tx.clear(key),
      clearRange: (range) => tx.clearRange(range),
      add: (key, delta) => tx.add(key, delta),
      setStamped: (prefix, suffix, value) => tx.setStamped(prefix, suffix, value),
    };
  }

  return wrapEngine(inner, {
    transact: (body, options) => inner.transact((tx) => body(poisoned(tx)), options),
  });
}
