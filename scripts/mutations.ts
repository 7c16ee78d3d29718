/**
 * `deno task mutations`: puts bugs, one by one, into a copy of the sources and runs their
 * suites.
 *
 * Each bug has a suite that must find it. Prints which bugs were found, and exits with 1 if one
 * was not. `--only words`, once or more, chooses the bugs with these words in their names,
 * files or suites; `--part 2/5` chooses the second fifth of them.
 */

import { MUTATIONS } from "./mutations/list.ts";
import type { Mutation } from "./mutations/mutation.ts";
import { readOptions, taskCommand } from "./options.ts";

const ROOT = new URL("..", import.meta.url).pathname;
const COPIED = [
  "main.ts",
  "deno.json",
  "deno.lock",
  "README.md",
  "docs",
  "sdk",
  "src",
  "tests",
  "scripts",
];

/** A bug may keep a suite from ending. It counts as found after this many times the normal time. */
const SLOWER_MAX = 4;
const SECONDS_MIN = 60;

interface Options {
  readonly only?: readonly string[];
  readonly part?: string;
}

const { only = [""], part = "1/1" } = readOptions<Options>(
  taskCommand("mutations", "Puts bugs in, one after the other, and tells which the suites find.")
    .option("--only <words...>", "those with any of these in their names, files or suites")
    .option("--part <n/m>", "the n-th of m parts of them, such as 2/5"),
);
const chosen = partOf(
  MUTATIONS.filter(({ name, path, suite }) =>
    only.some((words) => `${name}\n${path}\n${suite}`.includes(words))
  ),
  part,
);
const copy = await Deno.makeTempDir({ prefix: "daybook_mutations_" });
try {
  await run("cp", ["-r", ...COPIED.map((path) => `${ROOT}${path}`), copy]);
  const seconds = await checkSound(copy, chosen);
  const missed: string[] = [];
  for (const mutation of chosen) {
    const isFound = await isFoundIn(copy, mutation, seconds.get(mutation.suite)!);
    console.log(`${isFound ? "found " : "MISSED"} ${mutation.name}: ${mutation.suite}`);
    if (!isFound) missed.push(mutation.name);
  }
  console.log(`\n${chosen.length - missed.length} of ${chosen.length} found`);
  if (missed.length > 0) Deno.exitCode = 1;
} finally {
  await Deno.remove(copy, { recursive: true });
}

/** Each part takes neighbours of the list, which share suites. */
function partOf(mutations: readonly Mutation[], part: string): readonly Mutation[] {
  const [number, parts] = part.split("/").map(Number);
  if (!(number! >= 1 && number! <= parts!)) throw new Error(`--part ${part}: say it like 2/5`);
  const edge = (index: number) => Math.round(mutations.length * index / parts!);
  return mutations.slice(edge(number! - 1), edge(number!));
}

/**
 * Throws if a suite fails without any bug: it could find none. Returns the seconds of each
 * suite.
 */
async function checkSound(
  folder: string,
  mutations: readonly Mutation[],
): Promise<ReadonlyMap<string, number>> {
  const seconds = new Map<string, number>();
  for (const suite of new Set(mutations.map(({ suite }) => suite))) {
    const env = mutations.find((mutation) => mutation.suite === suite)?.env;
    const startedAt = performance.now();
    if (!await test(folder, { suite, env })) throw new Error(`${suite} fails without any bug`);
    seconds.set(suite, (performance.now() - startedAt) / 1000);
  }
  return seconds;
}

function test(
  folder: string,
  { suite, env }: Pick<Mutation, "suite" | "env">,
  secondsMax = Infinity,
): Promise<boolean> {
  const args = ["test", "--allow-all", "--no-check", "--quiet", "--fail-fast", suite];
  return run(Deno.execPath(), args, { cwd: folder, env, secondsMax });
}

/** Returns true if the suite fails with the bug in. Afterwards the copy is as before. */
async function isFoundIn(folder: string, mutation: Mutation, seconds: number): Promise<boolean> {
  const file = `${folder}/${mutation.path}`;
  const sound = await Deno.readTextFile(file);
  if (sound.split(mutation.find).length !== 2) {
    throw new Error(`${mutation.path} does not hold exactly once: ${mutation.find}`);
  }
  await Deno.writeTextFile(file, sound.replace(mutation.find, () => mutation.put));
  try {
    // A bug that the compiler finds says nothing about a suite.
    if (!await run(Deno.execPath(), ["check", "--quiet", mutation.path], { cwd: folder })) {
      throw new Error(`${mutation.name}: it does not compile`);
    }
    return !await test(folder, mutation, Math.max(SECONDS_MIN, SLOWER_MAX * seconds));
  } finally {
    await Deno.writeTextFile(file, sound);
  }
}

interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly secondsMax?: number;
}

async function run(
  command: string,
  args: readonly string[],
  { cwd, env = {}, secondsMax = Infinity }: RunOptions = {},
): Promise<boolean> {
  const quiet = { stdout: "null", stderr: "null" } as const;
  const child = new Deno.Command(command, { args: [...args], cwd, env, ...quiet }).spawn();
  const timer = Number.isFinite(secondsMax)
    ? setTimeout(() => child.kill("SIGKILL"), secondsMax * 1000)
    : undefined;
  const { success } = await child.status;
  clearTimeout(timer);
  return success;
}
