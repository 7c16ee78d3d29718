/**
 * `deno task test`: all tests, in lanes that run at once. Three lanes have the tests that start
 * servers and those that only compute; one has the same product on FoundationDB, suite by suite,
 * each in a process of its own. Most of the time each of them waits. Messages of failures are short
 * (`tests/short_failures.ts`). The last lines name what failed and count everything. `deno task ok`
 * has checked the types before. Where `fdbserver`, `fdbcli` and `libfdb_c.so` are installed, or
 * FDB_CLUSTER_FILE names a cluster, that is a real cluster; else it says which suites were skipped
 * and why. With arguments it is `deno test` with them.
 */

import { missingForCluster, startCluster } from "../tests/support/cluster_process.ts";
import { shortenFailures } from "./tests/short_failures.ts";
import {
  CLUSTER_SUITES,
  MEMORY_SUITES,
  ordinaryTests,
  type Stage,
  type Suite,
} from "./tests/suites.ts";
import { addSummaries, formatSummary, readSummary, type Summary } from "./tests/summary.ts";

const ROOT = new URL("../", import.meta.url);
const ONE_ISOLATE = "tests/support/one_isolate.ts";
/** A suite that hangs is a failure. */
const SUITE_SECONDS_MAX = 1_660;

/** What waits for nobody leaves the processor to what does. */
const PATIENT = ["nice", "-n", "10"];

async function runTests(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  write: Write = writeAll,
  before: readonly string[] = [],
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
  const timer = setTimeout(() => {
    console.log(`the suite took more than ${SUITE_SECONDS_MAX} seconds`);
    child.kill("SIGKILL");
  }, SUITE_SECONDS_MAX * 1000);
  const decoder = new TextDecoder();
  let output = "";
  const short = shortenFailures(async (bytes) => {
    await write(bytes);
    output = (output + decoder.decode(bytes, { stream: true })).slice(-100_000);
  });
  for await (const bytes of child.stdout) await short.write(bytes);
  await short.end();
  const { success } = await child.status;
  clearTimeout(timer);
  return readSummary(output, success);
}

type Write = (bytes: Uint8Array) => Promise<void>;

/** A lane shows its output as it comes, or all at once in its turn. */
type Lane = (write: Write) => Promise<Summary[]>;

/** Runs all at once; the first is seen at work, the others when those before them have ended. */
async function runLanes(write: Write, lanes: readonly Lane[]): Promise<Summary[]> {
  const running = lanes.map((lane, at) => {
    const output: Uint8Array[] = [];
    const keep = (bytes: Uint8Array) => Promise.resolve(void output.push(bytes));
    return { output, summaries: lane(at === 0 ? write : keep) };
  });
  const summaries: Summary[] = [];
  for (const lane of running) {
    summaries.push(...await lane.summaries);
    for (const bytes of lane.output) await write(bytes);
  }
  return summaries;
}

function writeLine(write: Write, line: string): Promise<void> {
  return write(new TextEncoder().encode(`${line}\n`));
}

async function writeAll(bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await Deno.stdout.write(bytes.subarray(sent));
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
  const given = Deno.env.toObject();
  const unset = Object.entries(sizes).filter(([variable]) => given[variable] === undefined);
  const args = [ONE_ISOLATE, "--", ...paths];
  const summary = await runTests(args, { ...place, ...env, ...Object.fromEntries(unset) }, write);
  const seconds = (performance.now() - startedAt) / 1000;
  await writeLine(write, `--- FoundationDB: ${name}: ${formatSummary(summary, seconds)}`);
  return summary;
}

async function runOnCluster(write: Write): Promise<Summary[]> {
  const given = Deno.env.get("FDB_CLUSTER_FILE");
  const cannotStart = missingForCluster(true);
  const missing = given === undefined ? cannotStart : missingForCluster(false);
  const isSkipped = ({ startsCluster }: Suite) =>
    missing !== undefined || (startsCluster === true && cannotStart !== undefined);
  const suites = missing === undefined
    ? CLUSTER_SUITES.map((list) => list.filter((suite) => !isSkipped(suite)))
    : MEMORY_SUITES;
  const isOwn = missing === undefined && given === undefined;
  const cluster = isOwn ? await startCluster() : undefined;
  const clusterFile = missing === undefined ? given ?? cluster?.clusterFile : undefined;
  const lanes = suites.map((list) => async (write: Write) => {
    const summaries: Summary[] = [];
    for (const suite of list) summaries.push(await runSuite(suite, clusterFile, write));
    return summaries;
  });
  try {
    return await runLanes(write, lanes);
  } finally {
    await cluster?.stop();
    const skipped = CLUSTER_SUITES.flat().filter(isSkipped);
    if (skipped.length > 0) {
      await writeLine(write, describeSkipped(skipped, (missing ?? cannotStart)!, given));
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

/** What starts processes has the processor before what computes, and an isolate for each file. */
function ordinaryLane(stages: readonly Stage[], at: number): Lane {
  return async (write) => {
    const summaries: Summary[] = [];
    for (const { files, serves } of stages) {
      if (at > 0) await writeLine(write, "\n--- beside the others");
      const isolates = serves ? [] : [ONE_ISOLATE, "--"];
      const before = serves ? [] : PATIENT;
      summaries.push(await runTests([...isolates, ...files], {}, write, before));
    }
    return summaries;
  };
}

if (import.meta.main) {
  const startedAt = performance.now();
  const args = Deno.args.filter((argument) => argument !== "--");
  const summaries = args.length > 0
    ? [await runTests(args)]
    : await runLanes(writeAll, [...(await ordinaryTests()).map(ordinaryLane), runOnCluster]);
  const total = addSummaries(summaries);
  for (const failure of total.failures) console.log(`failed: ${failure}`);
  console.log(`\n${formatSummary(total, (performance.now() - startedAt) / 1000)}`);
  Deno.exit(total.failed === 0 ? 0 : 1);
}
