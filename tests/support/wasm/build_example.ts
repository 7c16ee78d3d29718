/**
 * Builds the modules of `src/wasm/examples` with the commands that their README prints. A
 * language whose compiler is missing on this machine is listed with the reason. Only the
 * AssemblyScript compiler, an npm package, is downloaded.
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { fencedBlocks, readText } from "../../documentation/markdown.ts";

export interface Example {
  readonly language: string;
  /** Why it cannot be built here. */
  readonly missing?: string;
  /** Returns the module before any check. Rejects with the compiler's output. */
  build(): Promise<Uint8Array<ArrayBuffer>>;
}

interface Printed {
  readonly success: boolean;
  readonly output: string;
  readonly complaints: string;
}

type Environment = Readonly<Record<string, string>>;

export const EXAMPLES_README = "src/wasm/examples/README.md";
const FOLDER = new URL("../../../src/wasm/examples/", import.meta.url);
const RUST_TARGET = "wasm32-unknown-unknown";
/** Where Debian's packages put the sources of crates. */
const DEBIAN_CRATES = "/usr/share/cargo/registry";
const ZIG_VERSION = "0.15.";
const BUILD_SECONDS_MAX = 300;

export async function findExamples(): Promise<Example[]> {
  return [
    { language: "AssemblyScript", build: () => inCopy("assemblyscript", buildAssemblyScript) },
    await findRust(),
    await findZig(),
  ];
}

/** Returns the only command in the README that calls this compiler. */
function printedCommand(compiler: string): string {
  const commands = fencedBlocks(readText(EXAMPLES_README)).filter(({ language, text }) =>
    language === "sh" && text.split(" ").includes(compiler)
  );
  assert.equal(commands.length, 1, compiler);
  return commands[0]!.text.trim();
}

/**
 * The compiler is in no import map, because then every server would download its 100 MB. So
 * `npx` becomes `deno run` with a lock of its own, which fits the version that the README
 * names.
 */
async function buildAssemblyScript(copy: string): Promise<Uint8Array<ArrayBuffer>> {
  const lock = fileURLToPath(new URL("assemblyscript.lock", import.meta.url));
  const deno = `${Deno.execPath()} run --no-config --lock=${lock} --frozen ` +
    "--allow-read --allow-write --allow-env";
  const command = printedCommand("asc").replace(
    /^npx --yes --package (\S+) asc/,
    `${deno} npm:$1/asc`,
  );
  const { success, complaints } = await run(command, copy);
  assert(success, complaints);
  return await Deno.readFile(`${copy}/order.wasm`);
}

async function findRust(): Promise<Example> {
  const found = { language: "Rust", build: () => inCopy("rust", buildRust) };
  const environment = await rustEnvironment();
  if (environment === undefined) return { ...found, missing: `no Rust for ${RUST_TARGET}` };
  const hasCrates = await inCopy("rust", (copy) => fetchCrates(copy, environment));
  return hasCrates ? found : { ...found, missing: "no serde_json on this machine" };
}

async function buildRust(copy: string): Promise<Uint8Array<ArrayBuffer>> {
  const environment = await rustEnvironment();
  assert(environment !== undefined && await fetchCrates(copy, environment));
  const { success, complaints } = await run(printedCommand("cargo"), copy, environment);
  assert(success, complaints);
  return await Deno.readFile(`${copy}/target/${RUST_TARGET}/release/order.wasm`);
}

/** Puts the first folder of the search path whose `rustc` has the target's library in front. */
async function rustEnvironment(): Promise<Environment | undefined> {
  const path = Deno.env.get("PATH") ?? "";
  for (const folder of path.split(":")) {
    const asked = await run(`${folder}/rustc --print target-libdir --target ${RUST_TARGET}`);
    if (!asked.success || !await isThere(asked.output.trim())) continue;
    return { PATH: `${folder}:${path}`, CARGO_NET_OFFLINE: "true" };
  }
}

/**
 * Returns whether the crates are available: in the user's cache, or else from Debian's
 * packages.
 */
async function fetchCrates(copy: string, environment: Environment): Promise<boolean> {
  if ((await run("cargo fetch", copy, environment)).success) return true;
  if (!await isThere(DEBIAN_CRATES)) return false;
  await Deno.mkdir(`${copy}/.cargo`);
  const sources = `[source.crates-io]\nreplace-with = "debian"\n` +
    `[source.debian]\ndirectory = "${DEBIAN_CRATES}"\n`;
  await Deno.writeTextFile(`${copy}/.cargo/config.toml`, sources);
  return (await run("cargo fetch", copy, environment)).success;
}

async function findZig(): Promise<Example> {
  const found = { language: "Zig", build: () => inCopy("zig", buildZig) };
  const { success, output } = await run("zig version");
  return success && output.startsWith(ZIG_VERSION)
    ? found
    : { ...found, missing: `no Zig ${ZIG_VERSION}x` };
}

async function buildZig(copy: string): Promise<Uint8Array<ArrayBuffer>> {
  const { success, complaints } = await run(printedCommand("zig"), copy);
  assert(success, complaints);
  return await Deno.readFile(`${copy}/order.wasm`);
}

/** Copies a language's sources to a temporary folder, where a build may leave its files. */
async function inCopy<T>(name: string, body: (copy: string) => Promise<T>): Promise<T> {
  const copy = await Deno.makeTempDir({ prefix: "daybook_example_" });
  try {
    for await (const entry of Deno.readDir(new URL(name, FOLDER))) {
      if (!entry.isFile) continue;
      await Deno.copyFile(new URL(`${name}/${entry.name}`, FOLDER), `${copy}/${entry.name}`);
    }
    return await body(copy);
  } finally {
    await Deno.remove(copy, { recursive: true });
  }
}

async function run(command: string, cwd = ".", env: Environment = {}): Promise<Printed> {
  const args = [String(BUILD_SECONDS_MAX), "bash", "-c", command];
  const { success, stdout, stderr } = await new Deno.Command("timeout", { args, cwd, env })
    .output();
  const decoder = new TextDecoder();
  return { success, output: decoder.decode(stdout), complaints: decoder.decode(stderr) };
}

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
