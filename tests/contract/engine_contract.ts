/**
 * THE CONTRACT OF AN ENGINE, as tests. An engine joins with a name and a way to open it empty:
 * see `sqlite_test.ts`. Wrappers join too, without faults. Each topic has its own file.
 */

import type { Engine } from "../../src/kv/engine.ts";
import { expectingWrites, type OpenedEngine, type OpenEngine } from "./engine_fixture.ts";
import { isolationContract } from "./isolation_contract.ts";
import { limitContract } from "./limit_contract.ts";
import { modelContract } from "./model_contract.ts";
import { rangeContract } from "./range_contract.ts";
import { lifeContract } from "./life_contract.ts";
import { writeContract } from "./write_contract.ts";

/** These count how often a body runs. Where writes are expected, one run may be in vain. */
const COUNTING_RUNS: readonly string[] = [
  "a body that throws is not run again, whatever changed meanwhile",
  "a change of what was read is a conflict, of what was not is none",
];

/** The same for transactions that say that they expect to write. */
export function engineContractExpectingWrites(name: string, open: OpenEngine): void {
  engineContract(`${name}, expecting writes`, expectingWrites(open), COUNTING_RUNS);
}

/**
 * Registers all tests of the contract for one engine.
 * @param without the tests that are left out.
 */
export function engineContract(
  name: string,
  open: OpenEngine,
  without: readonly string[] = [],
): void {
  function test(what: string, body: (engine: Engine, opened: OpenedEngine) => Promise<void>) {
    if (without.includes(what)) return;
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
