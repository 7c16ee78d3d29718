/** Two nodes on the embedded engine, which they share in one process. */

import { temporarySqlite } from "../support/temporary_engine.ts";
import { nodesContract } from "./nodes_contract.ts";

nodesContract("sqlite", async () => {
  const { engine, dispose } = await temporarySqlite();
  return { engines: [engine, engine], dispose };
});
