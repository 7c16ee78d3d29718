/**
 * `deno task differential -- --operations 20000 --seed 7`: the differential run, for people. Ends
 * with an error at the first difference; what a short trace does not cover is only told.
 */

import { parseArgs } from "node:util";
import { hiddenFaults } from "./faults.ts";
import { describeRun, runDifferential } from "./run.ts";
import { sqliteSubjects } from "./sqlite_subjects.ts";

const { values } = parseArgs({
  // A bare `--` is what `deno task differential -- ...` leaves in front.
  args: Deno.args.filter((argument) => argument !== "--"),
  options: { operations: { type: "string", default: "20000" }, seed: { type: "string" } },
});
const operations = Number(values.operations);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
console.log(`${operations} operations, seed ${seed}`);
const subjects = await sqliteSubjects(hiddenFaults(seed));
const report = await runDifferential({ operations, seed }, subjects);
console.log(describeRun(report));
for (const gap of report.gaps) console.log(`not covered: ${gap}`);
