/** Secrets of the deployment that all nodes share. */

import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { keys } from "../keys.ts";

export function readSecret(
  tx: Pick<ReadTransaction, "get">,
  name: string,
): Promise<Bytes | undefined> {
  return tx.get(keys.secret(name));
}

export function storeSecret(tx: Transaction, name: string, secret: Bytes): void {
  tx.set(keys.secret(name), secret);
}
