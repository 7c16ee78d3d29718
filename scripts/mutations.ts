/**
 * `deno task mutations`: puts one bug after the other into a copy of the sources and runs the suite
 * that has to find it. Prints which were found; exits 1 where one was not. `--only words` takes
 * those with these words in their names.
 */

import { type Mutation, MUTATIONS } from "./mutations/list.ts";
import { readOptions, taskCommand } from "./options.ts";

const ROOT = new URL("..", import.meta.url).pathname;
const COPIED = ["main.ts", "deno.json", "deno.lock", "README.md", "src", "tests", "scripts"];

const { only = "" } = readOptions<{ readonly only?: string }>(
  taskCommand("mutations", "Puts bugs in, one after the other, and tells which the suites find.")
    .option("--only <words>", "those whose names have these words in them"),
);
const chosen = MUTATIONS.filter(({ name }) => name.includes(only));
const copy = await Deno.makeTempDir({ prefix: "daybook_mutations_" });
try {
  await run("cp", ["-r", ...COPIED.map((path) => `${ROOT}${path}`), copy]);
  await checkSound(copy, chosen);
  const missed: string[] = [];
  for (const mutation of chosen) {
    const isFound = await isFoundIn(copy, mutation);
    console.log(`${isFound ? "found " : "MISSED"} ${mutation.name}: ${mutation.suite}`);
    if (!isFound) missed.push(mutation.name);
  }
  console.log(`\n${chosen.length - missed.length} of ${chosen.length} found`);
  if (missed.length > 0) Deno.exitCode = 1;
} finally {
  await Deno.remove(copy, { recursive: true });
}

/** A suite that fails without any bug finds none. */
async function checkSound(folder: string, mutations: readonly Mutation[]): Promise<void> {
  for (const suite of new Set(mutations.map(({ suite }) => suite))) {
    const env = mutations.find((mutation) => mutation.suite === suite)?.env;
    if (!await test(folder, { suite, env })) throw new Error(`${suite} fails without any bug`);
  }
}

function test(folder: string, { suite, env }: Pick<Mutation, "suite" | "env">): Promise<boolean> {
  const args = ["test", "--allow-all", "--no-check", "--quiet", suite];
  return run(Deno.execPath(), args, folder, env);
}

/** True where the suite fails with the bug in. The copy is as before afterwards. */
async function isFoundIn(folder: string, mutation: Mutation): Promise<boolean> {
  const file = `${folder}/${mutation.path}`;
  const sound = await Deno.readTextFile(file);
  if (sound.split(mutation.find).length !== 2) {
    throw new Error(`${mutation.path} does not hold exactly once: ${mutation.find}`);
  }
  await Deno.writeTextFile(file, sound.replace(mutation.find, () => mutation.put));
  try {
    // A bug that the compiler finds is no bug for a suite.
    if (!await run(Deno.execPath(), ["check", "--quiet", mutation.path], folder)) {
      throw new Error(`${mutation.name}: it does not compile`);
    }
    return !await test(folder, mutation);
  } finally {
    await Deno.writeTextFile(file, sound);
  }
}

async function run(
  command: string,
  args: readonly string[],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  const quiet = { stdout: "null", stderr: "null" } as const;
  const child = new Deno.Command(command, { args: [...args], cwd, env, ...quiet });
  return (await child.output()).success;
}
