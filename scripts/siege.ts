/**
 * `deno task siege`: attacks a real server, and measures a neighbour beside each attack.
 *
 * The attacks run one after the other. They are data, in `siege/rows/`. Prints what each did,
 * and a table at the end; exits with 1 if a bar was broken. With `--fuzz N`, N attacks made
 * from a seed run instead.
 */

import { missingForCluster } from "../tests/support/cluster_process.ts";
import {
  nameList,
  positiveNumber,
  readOptions,
  seedOption,
  taskCommand,
  wholeNumber,
} from "./options.ts";
import type { Attack } from "./siege/attack.ts";
import { ATTACK_GROUPS } from "./siege/attacks.ts";
import { NOISY_BARS, QUIET_BARS } from "./siege/bars.ts";
import type { EngineName } from "./siege/besieged.ts";
import { runFuzz } from "./siege/fuzz/run_fuzz.ts";
import { startNeighbour } from "./siege/neighbour.ts";
import type { Outcome } from "./siege/outcome.ts";
import { runAttack, tryAttack } from "./siege/run_attack.ts";
import { describeOutcome, markdownTable } from "./siege/table.ts";

interface Options {
  readonly only?: readonly string[];
  readonly engine?: string;
  readonly seconds: number;
  readonly noisy?: boolean;
  readonly short?: boolean;
  readonly markdown?: string;
  readonly list?: boolean;
  readonly once?: boolean;
  readonly fuzz?: number;
  readonly kills: number;
  readonly seed: number;
  readonly findings: string;
  readonly server?: string;
}

const options = readOptions<Options>(
  taskCommand("siege", "Attacks on a real server, each with a neighbour measured beside it.")
    .option(
      "--only <words>",
      "attacks or groups whose name has one of these, between commas",
      nameList,
    )
    .option("--engine <name>", "sqlite or foundationdb; default: both, where there is a cluster")
    .option("--seconds <number>", "how long an attack lasts", positiveNumber, 6)
    .option("--noisy", "the bars for a machine on which others work")
    .option("--short", "without the kill, the restart and the stop")
    .option("--markdown <file>", "writes the table there, anew after each attack")
    .option("--server <folder>", "besieges the server of another checkout, for figures of before")
    .option("--fuzz <number>", "so many random cases instead of the attacks", wholeNumber)
    .option("--kills <number>", "of the fuzz: so many kills and stops in the middle", Number, 0)
    .option(
      "--findings <folder>",
      "of the fuzz: where guilty cases are written",
      "./siege_findings",
    )
    .addOption(seedOption())
    .option("--once", "sends each request once and prints the answer; no neighbour, no bars")
    .option("--list", "prints the attacks and ends"),
);
// Exit in the ordinary way, so that the servers end with the siege, whatever ends it.
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, () => Deno.exit(130));
}
const bars = options.noisy === true ? NOISY_BARS : QUIET_BARS;
const chosen = chooseAttacks(options.only);
if (options.list === true) {
  listAttacks();
  Deno.exit(0);
}
if (options.once === true) {
  for (const attack of chosen) {
    console.log(`${attack.name}\n    ${await tryAttack(attack, options.server)}`);
  }
  Deno.exit(0);
}
if (options.fuzz !== undefined) Deno.exit(await fuzz(options.fuzz));
const outcomes = await runAll(chosen, enginesOf(options.engine));
const failed = outcomes.filter(({ faults }) => faults.length > 0);
console.log(`\n${markdownTable(outcomes)}\n`);
console.log(`${outcomes.length - failed.length} held, ${failed.length} failed`);
Deno.exit(failed.length === 0 ? 0 : 1);

async function runAll(
  attacks: readonly Attack[],
  engines: readonly EngineName[],
): Promise<Outcome[]> {
  const { seconds, short: isShort, server: folder } = options;
  const outcomes: Outcome[] = [];
  const neighbour = await startNeighbour();
  for (const engine of engines) {
    for (const attack of attacks) {
      const outcome = await runAttack(attack, neighbour, {
        engine,
        seconds,
        bars,
        isShort,
        folder,
      });
      outcomes.push(outcome);
      console.log(describeOutcome(outcome));
      if (options.markdown !== undefined) {
        await Deno.writeTextFile(options.markdown, `${markdownTable(outcomes)}\n`);
      }
    }
  }
  await neighbour.stop();
  return outcomes;
}

async function fuzz(cases: number): Promise<number> {
  const { seed, kills, findings, server: folder } = options;
  const [engine] = enginesOf(options.engine ?? "sqlite");
  console.log(`${cases} cases, seed ${seed}, ${engine}`);
  const run = { engine: engine!, cases, seed, kills, bars, folder, findings };
  const report = await runFuzz(run, (line) => console.log(line));
  for (const [answer, times] of [...report.answers].sort()) console.log(`    ${answer} x${times}`);
  const found = report.findings.length + report.badStops.length;
  console.log(`${report.cases} cases, ${report.kills} kills, ${found} found`);
  return found === 0 ? 0 : 1;
}

function chooseAttacks(words: readonly string[] | undefined): readonly Attack[] {
  const all = ATTACK_GROUPS.flatMap(({ title, attacks }) =>
    attacks.filter(({ name }) =>
      words === undefined || words.some((word) => name.includes(word) || title === word)
    )
  );
  if (all.length > 0) return all;
  console.error("No attack has such a name: --list prints them");
  Deno.exit(2);
}

function enginesOf(name: string | undefined): readonly EngineName[] {
  const missing = missingForCluster(true);
  if (name === "sqlite") return ["sqlite"];
  if (name === "foundationdb" && missing === undefined) return ["foundationdb"];
  if (name === undefined) {
    if (missing === undefined) return ["sqlite", "foundationdb"];
    console.log(`FoundationDB is left out: ${missing}\n`);
    return ["sqlite"];
  }
  console.error(name === "foundationdb" ? `No cluster: ${missing}` : `There is no engine ${name}`);
  Deno.exit(2);
}

function listAttacks(): void {
  for (const { title, attacks } of ATTACK_GROUPS) {
    const some = attacks.filter((attack) => chosen.includes(attack));
    if (some.length > 0) console.log(`${title}`);
    for (const { name, needs, does } of some) console.log(`  ${name} [${needs}]: ${does}`);
  }
}
