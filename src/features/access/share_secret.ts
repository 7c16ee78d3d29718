/** Shares a random secret between all nodes of a deployment through the store. */

import type { Host } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { readSecret, storeSecret } from "../../store/deployment.ts";

const SECRET_BYTES = 32;

/** The secret of that name; the first node that asks for it makes it. */
export function shareSecret(engine: Engine, host: Host, name: string): Promise<Bytes> {
  const fresh = host.randomBytes(SECRET_BYTES);
  return engine.transact(async (tx) => {
    const existing = await readSecret(tx, name);
    if (existing === undefined) storeSecret(tx, name, fresh);
    return existing ?? fresh;
  });
}
