/** The FoundationDB engine keeps the contract over a client in memory, wherever tests run. */

import type { Bytes } from "../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { memoryStores } from "../support/backup_stores.ts";
import { backupContract } from "./backup_contract.ts";
import { engineContract, engineContractExpectingWrites } from "./engine_contract.ts";
import { bytes, type OpenEngine } from "./engine_fixture.ts";

backupContract("foundationdb in memory", memoryStores);

function openUnder(prefix: Bytes | undefined): OpenEngine {
  return () => {
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
  };
}

engineContract("foundationdb in memory", openUnder(undefined));
engineContract("foundationdb in memory, under a prefix", openUnder(bytes("p")));
engineContractExpectingWrites("foundationdb in memory", openUnder(undefined));
