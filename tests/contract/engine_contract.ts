/**
 * THE CONTRACT OF AN ENGINE, as tests. An engine joins with a name and a way to open it empty:
 * see `sqlite_test.ts`. Wrappers join too, without faults. Each topic has its own file.
 */

import type { Engine } from "../../src/kv/engine.ts";
import type { OpenedEngine, OpenEngine } from "./engine_fixture.ts";
import { isolationContract } from "./isolation_contract.ts";
import { limitContract } from "./limit_contract.ts";
import { modelContract } from "./model_contract.ts";
import { rangeContract } from "./range_contract.ts";
import { lifeContract } from "./life_contract.ts";
import { writeContract } from "./write_contract.ts";

/** Registers all tests of the contract for one engine. */
export function engineContract(name: string, open: OpenEngine): void {
  function test(what: string, body: (engine: Engine, opened: OpenedEngine) => Promise<void>) {
    Deno.test(`${name}: ${what}`, async () => {
      const opened = await open();
      try {
        await body(opened.engine, opened);
      } finally {
        await opened.dispose();
      }
    });
  }
  writeContract(test);
  rangeContract(test);
  isolationContract(test);
  limitContract(test);
  lifeContract(test);
  modelContract(test);
}
