/**
 * `deno task outages -- --rounds 40 --seed 12345`: the outage driver for long runs and replays.
 * A killed cluster stays dead for 20 seconds, or `--down` milliseconds.
 */

import { parseArgs } from "node:util";
import { startCluster } from "../support/cluster_process.ts";
import { runOutages } from "./outage_driver.ts";

const { values } = parseArgs({
  // A bare `--` is what `deno task outages -- ...` leaves in front.
  args: Deno.args.filter((argument) => argument !== "--"),
  options: {
    rounds: { type: "string", default: "40" },
    seed: { type: "string" },
    clients: { type: "string", default: "8" },
    down: { type: "string", default: "20000" },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
const cluster = await startCluster();
const report = await runOutages(cluster, {
  seed,
  rounds: Number(values.rounds),
  clients: Number(values.clients),
  clusterDownMs: Number(values.down),
  log: (line) => console.log(line),
});
await cluster.stop();
console.log(JSON.stringify(report, undefined, 2));
Deno.exit(report.faults.length === 0 ? 0 : 1);
