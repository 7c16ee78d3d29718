/** The FoundationDB engine keeps the contract over a client in memory, wherever tests run. */

import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { memoryStores } from "../support/backup_stores.ts";
import { backupContract } from "./backup_contract.ts";
import { engineContract } from "./engine_contract.ts";
import { bytes } from "./engine_fixture.ts";

backupContract("foundationdb in memory", memoryStores);

for (const prefix of [undefined, bytes("p")]) {
  const name = `foundationdb in memory${prefix === undefined ? "" : ", under a prefix"}`;
  engineContract(name, () => {
    const database = memoryDatabase();
    const host = fakeHost();
    let engine = new FoundationdbEngine({ database, host, prefix });
    return Promise.resolve({
      engine,
      async reopen() {
        await engine.close();
        return engine = new FoundationdbEngine({ database, host, prefix });
      },
      dispose: () => engine.close(),
    });
  });
}
