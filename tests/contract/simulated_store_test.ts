/** The simulated store is a valid engine: what runs on it would run on the others. */

import { createSimulatedStore } from "../simulation/simulated_store.ts";
import { engineContract } from "./engine_contract.ts";

engineContract("simulated", () => {
  const store = createSimulatedStore();
  const open = () => store.open({ pause: () => Promise.resolve(), nowMs: () => Date.now() });
  let engine = open();
  return Promise.resolve({
    engine,
    async reopen() {
      await engine.close();
      return engine = open();
    },
    dispose: () => engine.close(),
  });
});
