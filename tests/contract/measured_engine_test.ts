/** A measured engine is an engine like any other. */

import { measureEngine } from "../../src/kv/calls.ts";
import { temporaryEngine } from "../support/temporary_engine.ts";
import { engineContract } from "./engine_contract.ts";

engineContract("measured", async () => {
  const { engine, dispose } = await temporaryEngine();
  return { engine: measureEngine(engine, () => performance.now(), () => {}), dispose };
});
