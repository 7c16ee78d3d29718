/** Stand-ins for tests without modules: a call to any of them is a bug. */

import type { ModuleAsker } from "../../src/features/writes/ask_modules.ts";
import { newOutsideAnswers, type OutsideAsker } from "../../src/features/writes/ask_outside.ts";
import type { HandlerRunners } from "../../src/features/states/fold_steps.ts";
import type { ModuleRunner } from "../../src/features/modules/run_modules.ts";
import type { Engine } from "../../src/kv/engine.ts";

function refuseToRun(): never {
  throw new Error("this test runs no modules");
}

export const noModules: ModuleRunner = {
  fold: refuseToRun,
  ask: refuseToRun,
  check: refuseToRun,
};

const computing = {
  fold: refuseToCompute,
  foldToBytes: refuseToCompute,
  advanceRow: refuseToCompute,
};

/** For small folds: handing one to a compute process is a bug. */
export const noRunners: HandlerRunners = {
  modules: noModules,
  compute: { instanceOf: String, ...computing },
};

function refuseToCompute(): never {
  throw new Error("this test needs no process");
}

export const noAsker: ModuleAsker = { prepare: refuseToRun, answer: refuseToRun };

export function noOutsideAsker(engine: Engine): OutsideAsker {
  return {
    transact: (_tenant, _spec, body) => engine.transact((tx) => body(tx, newOutsideAnswers())),
  };
}
