/** Two nodes on the embedded engine, which both have in one process. */

import { temporaryEngine } from "../support/temporary_engine.ts";
import { nodesContract } from "./nodes_contract.ts";

nodesContract("sqlite", async () => {
  const { engine, dispose } = await temporaryEngine();
  return { engines: [engine, engine], dispose };
});
