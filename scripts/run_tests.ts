/**
 * `deno task test`: all tests, several processes at once. Two at a time have the tests that start
 * servers, two those that only compute, and others the same product on FoundationDB, suite by
 * suite. Most of the time each of them waits. Messages of failures are short
 * (`tests/short_failures.ts`), and tests that draw their cases draw fewer than alone
 * (`ORDINARY_SIZES`). The last lines name what failed and count everything. `deno task ok` has
 * checked the types before. Where `fdbserver`, `fdbcli` and `libfdb_c.so` are installed, or
 * FDB_CLUSTER_FILE names a cluster, that is a real cluster; else it says which suites were skipped
 * and why. With arguments it is `deno test` with them.
 */

import { missingForCluster, startCluster } from "../tests/support/cluster_process.ts";
import { shortenFailures } from "./tests/short_failures.ts";
import { showInTurn, type Shown, type Write } from "./tests/show_in_turn.ts";
import {
  CLUSTER_SUITES,
  MEMORY_SUITES,
  ORDINARY_SIZES,
  ordinaryTests,
  type Suite,
} from "./tests/suites.ts";
import { addSummaries, formatSummary, readSummary, type Summary } from "./tests/summary.ts";

const ROOT = new URL("../", import.meta.url);
const ONE_ISOLATE = "tests/support/one_isolate.ts";
/** A suite that hangs is a failure, and says which test it was in. */
const SUITE_SECONDS_MAX = 1_660;
/** A suite that says nothing for so long hangs; no test takes half of it on a slow machine. */
const SILENT_SECONDS_MAX = 420;

/** What waits for nobody leaves the processor to what does. */
const PATIENT = ["nice", "-n", "10"];
const MEMORY_FOLDER_BYTES_MIN = 4 * 1024 ** 3;

async function runTests(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { write, before = [] }: { write: Write; before?: readonly string[] },
): Promise<Summary> {
  const colours: Record<string, string> = Deno.stdout.isTerminal() ? { FORCE_COLOR: "1" } : {};
  const command = [...before, Deno.execPath(), "test", "--allow-all", "--no-check", ...args];
  const child = new Deno.Command(command[0]!, {
    args: command.slice(1),
    cwd: ROOT,
    env: { ...colours, ...env },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const watch = watchFor(child);
  const decoder = new TextDecoder();
  let output = "";
  const short = shortenFailures(async (bytes) => {
    await write(bytes);
    output = (output + decoder.decode(bytes, { stream: true })).slice(-100_000);
  });
  for await (const bytes of child.stdout) {
    watch.heard();
    await short.write(bytes);
  }
  await short.end();
  const { success } = await child.status;
  watch.end();
  return readSummary(output, success);
}

/** Kills a run that takes too long as a whole, or that says nothing for too long. */
function watchFor(child: Deno.ChildProcess): { heard(): void; end(): void } {
  const killAfter = (seconds: number, what: string) =>
    setTimeout(() => {
      console.log(`${what} for more than ${seconds} seconds, so it is killed`);
      child.kill("SIGKILL");
    }, seconds * 1000);
  const awaitWords = () => killAfter(SILENT_SECONDS_MAX, "a suite has said nothing");
  const whole = killAfter(SUITE_SECONDS_MAX, "a suite has run");
  let silent = awaitWords();
  return {
    heard() {
      clearTimeout(silent);
      silent = awaitWords();
    },
    end() {
      clearTimeout(silent);
      clearTimeout(whole);
    },
  };
}

type Job = (write: Write) => Promise<Summary>;

/** Does the jobs in their order, so many at a time. */
async function runJobs(
  jobs: readonly Job[],
  { atOnce, open }: { readonly atOnce: number; readonly open: () => Shown },
): Promise<Summary[]> {
  const left = [...jobs];
  const summaries: Summary[] = [];
  const work = async () => {
    for (let job = left.shift(); job !== undefined; job = left.shift()) {
      const shown = open();
      summaries.push(await job(shown.write));
      await shown.end();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return summaries;
}

function writeLine(write: Write, line: string): Promise<void> {
  return write(new TextEncoder().encode(`${line}\n`));
}

async function writeAll(bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await Deno.stdout.write(bytes.subarray(sent));
}

/** Sizes for whoever runs the tests has not set them. */
function unset(sizes: Readonly<Record<string, string>>): Record<string, string> {
  const given = Deno.env.toObject();
  return Object.fromEntries(Object.entries(sizes).filter(([name]) => given[name] === undefined));
}

async function runSuite(
  { name, paths, env, sizes = {} }: Suite,
  clusterFile: string | undefined,
  write: Write,
): Promise<Summary> {
  const startedAt = performance.now();
  await writeLine(write, `\n--- FoundationDB: ${name}`);
  const place: Record<string, string> = clusterFile === undefined
    ? {}
    : { FDB_CLUSTER_FILE: clusterFile };
  const args = [ONE_ISOLATE, "--", ...paths];
  const all = { ...ORDINARY_SIZES, ...sizes };
  const summary = await runTests(args, { ...place, ...env, ...unset(all) }, { write });
  const seconds = (performance.now() - startedAt) / 1000;
  await writeLine(write, `--- FoundationDB: ${name}: ${formatSummary(summary, seconds)}`);
  return summary;
}

async function runOnCluster(open: () => Shown): Promise<Summary[]> {
  const given = Deno.env.get("FDB_CLUSTER_FILE");
  const cannotStart = missingForCluster(true);
  const missing = given === undefined ? cannotStart : missingForCluster(false);
  const isSkipped = ({ startsCluster }: Suite) =>
    missing !== undefined || (startsCluster === true && cannotStart !== undefined);
  const lists = missing === undefined
    ? CLUSTER_SUITES.map((list) => list.filter((suite) => !isSkipped(suite)))
    : MEMORY_SUITES;
  const isOwn = missing === undefined && given === undefined;
  const cluster = isOwn ? await startCluster() : undefined;
  const clusterFile = missing === undefined ? given ?? cluster?.clusterFile : undefined;
  try {
    const summaries = await Promise.all(lists.map((list) => {
      const jobs = list.map((suite): Job => (write) => runSuite(suite, clusterFile, write));
      return runJobs(jobs, { atOnce: 1, open });
    }));
    return summaries.flat();
  } finally {
    await cluster?.stop();
    const skipped = CLUSTER_SUITES.flat().filter(isSkipped);
    if (skipped.length > 0) {
      const shown = open();
      await writeLine(shown.write, describeSkipped(skipped, (missing ?? cannotStart)!, given));
      await shown.end();
    }
  }
}

function describeSkipped(
  skipped: readonly Suite[],
  missing: string,
  given: string | undefined,
): string {
  return [
    "",
    "=== FoundationDB: SKIPPED on a real cluster",
    ...skipped.map(({ name }) => `===   ${name}`),
    `=== because: ${missing}${given === undefined ? ", and FDB_CLUSTER_FILE is not set" : ""}.`,
    "=== To run them, install foundationdb-server and foundationdb-clients 7.3:",
    "=== https://github.com/apple/foundationdb/releases",
  ].join("\n");
}

/** They have an isolate for each file. */
function servingJob(files: readonly string[]): Job {
  return (write) => runTests(files, unset(ORDINARY_SIZES), { write });
}

/** They share an isolate, keep their stores in memory, and have what the others leave. */
function computingJob(files: readonly string[], folder: string | undefined): Job {
  const place: Record<string, string> = folder === undefined ? {} : { TMPDIR: folder };
  const env = { ...place, ...unset(ORDINARY_SIZES) };
  return (write) => runTests([ONE_ISOLATE, "--", ...files], env, { write, before: PATIENT });
}

/** A folder in memory for stores of tests that do not ask whether a disk has kept them. */
async function memoryFolder(): Promise<string | undefined> {
  const command = new Deno.Command("df", { args: ["--output=avail", "-B1", "/dev/shm"] });
  try {
    const { success, stdout } = await command.output();
    const free = Number(new TextDecoder().decode(stdout).split("\n")[1]);
    return success && free > MEMORY_FOLDER_BYTES_MIN ? "/dev/shm" : undefined;
  } catch {
    return undefined;
  }
}

async function runEverything(): Promise<Summary[]> {
  const open = showInTurn(writeAll);
  const [{ serving, computing }, folder] = await Promise.all([ordinaryTests(), memoryFolder()]);
  const summaries = await Promise.all([
    runJobs(serving.map(servingJob), { atOnce: 2, open }),
    runJobs(computing.map((files) => computingJob(files, folder)), { atOnce: 2, open }),
    runOnCluster(open),
  ]);
  return summaries.flat();
}

if (import.meta.main) {
  const startedAt = performance.now();
  const args = Deno.args.filter((argument) => argument !== "--");
  const summaries = args.length > 0
    ? [await runTests(args, {}, { write: writeAll })]
    : await runEverything();
  const total = addSummaries(summaries);
  for (const failure of total.failures) console.log(`failed: ${failure}`);
  console.log(`\n${formatSummary(total, (performance.now() - startedAt) / 1000)}`);
  Deno.exit(total.failed === 0 ? 0 : 1);
}
