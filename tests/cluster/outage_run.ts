/**
 * `deno task outages -- --rounds 40 --seed 12345`: the outage driver for long runs and replays.
 * A killed cluster stays dead for 20 seconds, or for `--down` milliseconds.
 */

import { readOptions, seedOption, taskCommand, wholeNumber } from "../../scripts/options.ts";
import { startCluster } from "../support/cluster_process.ts";
import { runOutages } from "./outage_driver.ts";

interface OutageRunOptions {
  readonly rounds: number;
  readonly seed: number;
  readonly clients: number;
  readonly down: number;
}

const { seed, rounds, clients, down } = readOptions<OutageRunOptions>(
  taskCommand("outages", "Kills, stops and holds nodes and their cluster under load.")
    .option("--rounds <number>", "how many outages", wholeNumber, 40)
    .addOption(seedOption())
    .option("--clients <number>", "that write", wholeNumber, 8)
    .option("--down <ms>", "how long a killed cluster stays dead", wholeNumber, 20_000),
);
console.log(`seed ${seed}`);
const cluster = await startCluster();
const report = await runOutages(cluster, {
  seed,
  rounds,
  clients,
  clusterDownMs: down,
  log: (line) => console.log(line),
});
await cluster.stop();
console.log(JSON.stringify(report, undefined, 2));
Deno.exit(report.faults.length === 0 ? 0 : 1);
