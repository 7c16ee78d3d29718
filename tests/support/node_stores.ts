/** Both kinds of store that several nodes may share, for tests that run on each of them. */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "./fake_host.ts";
import { foundationdbCluster } from "./foundationdb_cluster.ts";
import { memoryDatabase } from "./memory_foundationdb.ts";
import { temporaryEngine } from "./temporary_engine.ts";
import type { OpenNodes } from "./two_nodes.ts";

interface NodeStore {
  readonly name: string;
  readonly open: OpenNodes;
}

export const NODE_STORES: readonly NodeStore[] = [
  {
    name: "sqlite",
    async open() {
      const { engine, dispose } = await temporaryEngine();
      return { engines: [engine, engine], dispose };
    },
  },
  {
    name: "foundationdb in memory",
    open() {
      const database = memoryDatabase();
      const engines: [Engine, Engine] = [
        new FoundationdbEngine({ database, host: fakeHost("engine a") }),
        new FoundationdbEngine({ database, host: fakeHost("engine b") }),
      ];
      const dispose = async () => {
        for (const engine of engines) await engine.close();
      };
      return Promise.resolve({ engines, dispose });
    },
  },
];

/** With `TEST_STORE=foundationdb` a cluster alone; call it once in a process. */
export function chosenNodeStores(): readonly NodeStore[] {
  if (Deno.env.get("TEST_STORE") !== "foundationdb") return NODE_STORES;
  const cluster = foundationdbCluster();
  assert.equal(cluster.missing, undefined);
  async function open() {
    const { engine, dispose } = await cluster.open();
    return { engines: [engine, engine] as const, dispose };
  }
  return [{ name: "foundationdb", open }];
}
