/**
 * Engines whose commits go wrong in a chosen way, as callers of the port meet it: the outage that
 * is thrown on, with the commit landed or not, and the body that is run again.
 */

import { type Engine, EngineUnavailable } from "../../src/kv/engine.ts";

/** The transaction of that number (1 is the first) throws; `landed` tells whether it committed. */
export function failCommit(engine: Engine, number: number, landed: boolean): Engine {
  let count = 0;
  return {
    ...bind(engine),
    async transact(body) {
      const fails = ++count === number;
      const result = fails && !landed ? undefined : await engine.transact(body);
      if (fails) throw new EngineUnavailable("the reply was lost");
      return result as Awaited<ReturnType<typeof body>>;
    },
  };
}

/** Every body runs once for nothing before it runs for good, as after a conflict. */
export function runTwice(engine: Engine): Engine {
  const discarded = new Error("discarded");
  return {
    ...bind(engine),
    async transact(body) {
      try {
        await engine.transact(async (tx) => {
          await body(tx);
          throw discarded;
        });
      } catch (error) {
        if (error !== discarded) throw error;
      }
      return await engine.transact(body);
    },
  };
}

function bind(engine: Engine): Engine {
  return {
    transact: (body) => engine.transact(body),
    snapshot: (body) => engine.snapshot(body),
    watch: (key) => engine.watch(key),
    close: () => engine.close(),
  };
}
