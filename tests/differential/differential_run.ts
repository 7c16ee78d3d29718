/**
 * `deno task differential -- --operations 20000 --seed 7`: the differential run for people. It
 * ends with an error at the first difference; what a short trace does not cover is only
 * reported.
 */

import { readOptions, seedOption, taskCommand, wholeNumber } from "../../scripts/options.ts";
import { hiddenFaults } from "./faults.ts";
import { describeRun, runDifferential } from "./run.ts";
import { sqliteSubjects } from "./sqlite_subjects.ts";

const { operations, seed } = readOptions<{ readonly operations: number; readonly seed: number }>(
  taskCommand(
    "differential",
    "The same trace on engines that restart and fail; ends where they differ.",
  )
    .option("--operations <number>", "of the trace", wholeNumber, 20_000)
    .addOption(seedOption()),
);
console.log(`${operations} operations, seed ${seed}`);
const subjects = await sqliteSubjects(hiddenFaults(seed));
const report = await runDifferential({ operations, seed }, subjects);
console.log(describeRun(report));
for (const gap of report.gaps) console.log(`not covered: ${gap}`);
