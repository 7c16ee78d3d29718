/** Two nodes on the FoundationDB engine, each with its own engine, over a client in memory. */

import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { nodesContract } from "./nodes_contract.ts";

nodesContract("foundationdb in memory", () => {
  const database = memoryDatabase();
  const first = new FoundationdbEngine({ database, host: fakeHost("engine a") });
  const second = new FoundationdbEngine({ database, host: fakeHost("engine b") });
  return Promise.resolve({
    engines: [first, second],
    async dispose() {
      await first.close();
      await second.close();
    },
  });
});
