/** Both kinds of store that several nodes may share, for tests that run on each of them. */

import type { Engine } from "../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { fakeHost } from "./fake_host.ts";
import { memoryDatabase } from "./memory_foundationdb.ts";
import { temporaryEngine } from "./temporary_engine.ts";
import type { OpenNodes } from "./two_nodes.ts";

export const NODE_STORES: readonly { readonly name: string; readonly open: OpenNodes }[] = [
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
