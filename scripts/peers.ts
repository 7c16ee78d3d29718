/**
 * `deno task bench:peers`: runs Daybook and its peers on the same work, each of them durable.
 *
 * Each has one core for everything that works for it; the load generator has the other.
 * Installs the peers into a folder outside the repository, prints the tables, and writes the
 * raw figures after each work. No work begins after 18 minutes; with `--full` after 6 hours;
 * with `--small`, which only shows that everything works, after 10 minutes.
 */

import { percentiles } from "./bench/load.ts";
import { describeMachine, measureSync, pinLoadGenerator, serverWrapper } from "./bench/machine.ts";
import { nameList, positiveNumber, readOptions, taskCommand } from "./options.ts";
import { type Peer, PEERS } from "./peers/catalog.ts";
import { type Figures, isMeasured, readFigures, withEntry, writeFigures } from "./peers/figures.ts";
import { type Installed, installPeers, versionsOf } from "./peers/install.ts";
import { formatFigures } from "./peers/report.ts";
import { type Done, runWorks } from "./peers/runner.ts";
import { endForGood } from "./peers/servers.ts";
import { SIZES, type Sizes } from "./peers/sizes.ts";
import type { Work } from "./peers/work.ts";

const SYNC_PROBES = 300;

interface Options {
  readonly full?: true;
  readonly small?: true;
  readonly only?: readonly string[];
  readonly works?: readonly string[];
  readonly resume?: true;
  readonly replace?: true;
  readonly print?: true;
  readonly minutes?: number;
  readonly cache: string;
  readonly data?: string;
  readonly json: string;
}

function peersCommand() {
  const cache = `${Deno.env.get("HOME") ?? "/tmp"}/.cache/daybook-peers`;
  return taskCommand("bench:peers", "Ours and its peers on the same work, each durable.")
    .option("--full", "much more of each work: up to 6 hours")
    .option("--small", "little of each work, to see that it works")
    .option("--only <names>", "peers whose name begins with one of these", nameList)
    .option("--works <names>", "works whose name begins with one of these", nameList)
    .option("--resume", "go on with the file of raw figures: what it holds is not done again")
    .option("--replace", "the same, but what is asked for is done again")
    .option("--print", "only print what the file holds")
    .option("--minutes <number>", "no work begins later", positiveNumber)
    .option("--cache <folder>", "where peers are installed", cache)
    .option("--data <folder>", "where they keep their data (default: a temporary folder)")
    .option("--json <file>", "the file of raw figures", "peers.json");
}

function isNamed(asked: readonly string[], name: string): boolean {
  return asked.length === 0 || asked.some((each) => name.startsWith(each));
}

function sizesOf({ full, small, minutes }: Options): Sizes {
  const sizes = SIZES[full ? "full" : small ? "small" : "standard"];
  return minutes === undefined ? sizes : { ...sizes, minutes };
}

async function describe(folder: string, isPinned: boolean, installed: Installed) {
  const [, ...machine] = await describeMachine(isPinned);
  const { deno, v8 } = Deno.version;
  const versions = { deno: `Deno ${deno}, V8 ${v8}`, ...await versionsOf(installed) };
  const { p50, p99 } = percentiles(measureSync(folder, SYNC_PROBES));
  return { machine, versions, sync: { p50, p99 } };
}

async function commitOf(): Promise<string> {
  const cwd = new URL(".", import.meta.url).pathname;
  const args = ["describe", "--always", "--dirty", "--abbrev=10"];
  const asking = new Deno.Command("git", { args, cwd }).output();
  const output = await asking.catch(() => undefined);
  return output?.success ? new TextDecoder().decode(output.stdout).trim() : "unknown";
}

function tell({ work }: { readonly work: string }, { outcomes, failure, seconds }: Done): void {
  for (const outcome of outcomes) {
    const said = "reason" in outcome
      ? outcome.reason
      : `${outcome.value.toFixed(2)} ${outcome.unit}`;
    console.error(`  ${outcome.work}: ${said}`);
  }
  if (failure !== undefined) console.error(`  ${work}: FAILED ${failure}`);
  console.error(`  (${seconds.toFixed(1)} s)`);
}

/** Measures everything that was asked for, and writes the file of figures after each work. */
async function measure(options: Options, peers: readonly Peer[], folder: string): Promise<Figures> {
  const sizes = sizesOf(options);
  const { works = [] } = options;
  const installed = await installPeers(options.cache, peers.map(({ needs }) => needs));
  for (const problem of installed.problems) console.error(`not installed: ${problem}`);
  const isPinned = await pinLoadGenerator();
  const isToGoOn = options.resume ?? options.replace;
  const earlier = isToGoOn ? await readFigures(options.json) : undefined;
  const described = await describe(folder, isPinned, installed);
  let figures: Figures = { entries: [], ...earlier, ...described };
  const commit = await commitOf();
  const isAsked = (peer: Peer, work: Work) =>
    isNamed(works, work.name) && (peer.works ?? [work.name]).includes(work.name) &&
    !(options.resume && isMeasured(figures, peer.name, work.name));
  async function onDone(peer: Peer, work: Work, done: Done) {
    console.error(`${peer.name}, ${work.name}:`);
    tell({ work: work.name }, done);
    const { startedAt, ...rest } = done;
    const named = { peer: peer.name, work: work.name, sizes: sizes.name, commit };
    const entry = { ...named, startedAt: startedAt.toISOString(), ...rest };
    figures = withEntry(figures, entry);
    await writeFigures(options.json, figures);
  }
  const place = { installed, folder, wrapper: serverWrapper(isPinned) };
  console.error(`${sizes.name} sizes; no work begins after ${sizes.minutes} minutes`);
  await runWorks({ peers, place, sizes, isAsked, onDone });
  return figures;
}

/** Kills the peers before this process ends, and removes their data. */
function endOnSignal(folder: string): void {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, async () => {
      await endForGood();
      Deno.removeSync(folder, { recursive: true });
      Deno.exit(130);
    });
  }
}

async function main(): Promise<void> {
  const options = readOptions<Options>(peersCommand());
  if (options.print) {
    const figures = await readFigures(options.json);
    if (figures === undefined) throw new Error(`there is no ${options.json}`);
    return console.log(formatFigures(figures));
  }
  const { only = [] } = options;
  const peers = PEERS.filter(({ name }) => isNamed(only, name));
  const startedMs = performance.now();
  const folder = await Deno.makeTempDir({ prefix: "daybook_peers_", dir: options.data });
  // PostgreSQL runs as another user.
  await Deno.chmod(folder, 0o755);
  endOnSignal(folder);
  try {
    console.log(formatFigures(await measure(options, peers, folder)));
    const minutes = (performance.now() - startedMs) / 60_000;
    console.error(`${minutes.toFixed(1)} minutes; raw figures: ${options.json}`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

await main();
Deno.exit(0);
