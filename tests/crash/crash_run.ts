/** `deno task crash -- --rounds 200 --seed 12345`: the crash driver for long runs and replays. */

import { parseArgs } from "node:util";
import { runCrashes } from "./crash_driver.ts";

const { values } = parseArgs({
  // A bare `--` is what `deno task crash -- ...` leaves in front.
  args: Deno.args.filter((argument) => argument !== "--"),
  options: {
    rounds: { type: "string", default: "200" },
    seed: { type: "string" },
    connections: { type: "string", default: "8" },
  },
});
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`seed ${seed}`);
const report = await runCrashes({
  seed,
  rounds: Number(values.rounds),
  connections: Number(values.connections),
  log: (line) => console.log(line),
});
console.log(JSON.stringify(report, undefined, 2));
Deno.exit(report.faults.length === 0 ? 0 : 1);
