/**
 * `deno task crash -- --rounds 200 --seed 12345`: the crash driver for long runs and replays.
 * With `--store foundationdb` the server runs on a cluster that is started for it; with
 * `--workload reactions` events set others off, at once and later; with `--workload listeners` they
 * are delivered to a receiver that stays.
 */

import { parseArgs } from "node:util";
import { nodeSettings } from "../cluster/node.ts";
import { startCluster } from "../support/cluster_process.ts";
import { ANCHOR_ALL_THE_TIME, checkEvidence } from "./check_evidence.ts";
import { type CrashReport, runCrashes } from "./crash_driver.ts";
import { runDeliveryCrashes } from "./delivery_crashes.ts";
import { runReactionCrashes } from "./reaction_crashes.ts";

const { values } = parseArgs({
  // A bare `--` is what `deno task crash -- ...` leaves in front.
  args: Deno.args.filter((argument) => argument !== "--"),
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string" },
    connections: { type: "string", default: "8" },
    store: { type: "string", default: "sqlite" },
    workload: { type: "string", default: "writes" },
  },
});
if (!["writes", "reactions", "listeners"].includes(values.workload)) {
  throw new Error(`There is no workload ${values.workload}: writes, reactions or listeners`);
}
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
const cluster = values.store === "foundationdb" ? await startCluster() : undefined;
const options = {
  seed,
  rounds: Number(values.rounds),
  connections: Number(values.connections),
  env: { ...ANCHOR_ALL_THE_TIME, ...(cluster && nodeSettings(cluster)) },
  log: (line: string) => console.log(line),
};
const report = await run();
await cluster?.stop();
console.log(JSON.stringify(report, undefined, 2));

function run(): Promise<CrashReport> {
  switch (values.workload) {
    case "reactions":
      return runReactionCrashes({ ...options, clusterFile: cluster?.clusterFile });
    case "listeners":
      return runDeliveryCrashes(options);
    default:
      return runCrashes({ ...options, whileDown: cluster ? undefined : checkEvidence });
  }
}
Deno.exit(report.faults.length === 0 ? 0 : 1);
