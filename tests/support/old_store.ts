/** Stores as builds from before the commit log have left them. */

import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";

/** Takes everything of the log from the store, as if an earlier build had written it. */
export function makeOld(engine: Engine, { number }: Tenant): Promise<void> {
  return engine.transact((tx) => {
    tx.clearRange(keys.commitLog(number));
    tx.clearRange(keys.logStarts(number));
    tx.clear(keys.logCursor(number));
    tx.clear(keys.feedFill(number));
    tx.clear(keys.feedPrepared());
    return Promise.resolve();
  });
}
