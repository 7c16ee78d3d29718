/**
 * `deno task crash -- --rounds 200 --seed 12345`: the crash driver for long runs and replays.
 * With `--store foundationdb` it starts a cluster and runs the server on it. With `--workload
 * reactions` events have reactions, immediate and scheduled; with `--workload listeners` they
 * are delivered to a receiver that outlives the servers.
 */

import { Option } from "commander";
import { readOptions, seedOption, taskCommand, wholeNumber } from "../../scripts/options.ts";
import { nodeSettings } from "../cluster/node.ts";
import { startCluster } from "../support/cluster_process.ts";
import { ANCHOR_ALL_THE_TIME, checkEvidence } from "./check_evidence.ts";
import { type CrashReport, runCrashes } from "./crash_driver.ts";
import { runDeliveryCrashes } from "./delivery_crashes.ts";
import { runReactionCrashes } from "./reaction_crashes.ts";

interface CrashRunOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly connections: number;
  readonly store: "sqlite" | "foundationdb";
  readonly workload: "writes" | "reactions" | "listeners";
}

const { seed, rounds, connections, store, workload } = readOptions<CrashRunOptions>(
  taskCommand("crash", "Kills a server under load, again and again, and looks at what it kept.")
    .option("--rounds <number>", "how many kills", wholeNumber, 200)
    .addOption(seedOption())
    .option("--connections <number>", "that write", wholeNumber, 8)
    .addOption(
      new Option("--store <name>", "foundationdb: a cluster that is started for it")
        .choices(["sqlite", "foundationdb"]).default("sqlite"),
    )
    .addOption(
      new Option("--workload <name>", "what is in flight")
        .choices(["writes", "reactions", "listeners"]).default("writes"),
    ),
);
console.log(`seed ${seed}`);
const cluster = store === "foundationdb" ? await startCluster() : undefined;
const options = {
  seed,
  rounds,
  connections,
  env: { ...ANCHOR_ALL_THE_TIME, ...(cluster && nodeSettings(cluster)) },
  log: (line: string) => console.log(line),
};
const report = await run();
await cluster?.stop();
console.log(JSON.stringify(report, undefined, 2));

function run(): Promise<CrashReport> {
  switch (workload) {
    case "reactions":
      return runReactionCrashes({ ...options, clusterFile: cluster?.clusterFile });
    case "listeners":
      return runDeliveryCrashes(options);
    default:
      return runCrashes({ ...options, whileDown: cluster ? undefined : checkEvidence });
  }
}
Deno.exit(report.faults.length === 0 ? 0 : 1);
