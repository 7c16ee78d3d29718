/** Runs the program that is cut off under `strace`, which records it and may inject faults. */

import { type DiskTrace, readDiskTrace, TRACED_CALLS } from "./disk_trace.ts";

/** What the program has to do; see `store_program.ts`. */
export interface Plan {
  readonly seed: number;
  /** 0: the one after the newest that the program finds. */
  readonly first: number;
  readonly count: number;
  readonly atOnce: number;
  readonly end: "close" | "kill" | "forget";
  /** As `strace -e inject=` takes them, e.g. `fdatasync:error=EIO:when=7`. */
  readonly faults?: readonly string[];
  /** The files that the faults affect, by their suffixes; by default all of the store's. */
  readonly faulty?: readonly string[];
}

export interface Recording {
  readonly trace: DiskTrace;
  /** The numbers of the acknowledged transactions, and when they were acknowledged. */
  readonly acknowledged: readonly { readonly line: number; readonly number: number }[];
  /** Of the last program. */
  readonly exitCode: number;
  /** Of the others, one after the other. */
  readonly earlierCodes: readonly number[];
  /** The line at which the last program began. */
  readonly begin: number;
  /** The files as the last program left them. */
  readonly left: ReadonlyMap<string, Uint8Array>;
}

export const STORE = "store.sqlite";
/** SQLite has a journal until the store is in WAL mode. */
const STORE_ENDS = ["", "-wal", "-redo1", "-redo2", "-pages", "-journal"];
const PROGRAM = new URL("./store_program.ts", import.meta.url).pathname;
/** More than any call of the program writes. */
const STRING_BYTES_MAX = 4_000_000;

/** Returns undefined if strace is installed and permitted. */
export async function whyNotRecorded(): Promise<string | undefined> {
  try {
    const { success, stderr } = await new Deno.Command("strace", {
      args: ["-f", "--seccomp-bpf", "-o", "/dev/null", "true"],
      stdout: "null",
      stderr: "piped",
    }).output();
    return success ? undefined : `strace: ${new TextDecoder().decode(stderr).trim()}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "strace is not installed";
    throw error;
  }
}

/** @param before the files that the program finds. */
export function record(
  plan: Plan,
  before: ReadonlyMap<string, Uint8Array> = new Map(),
): Promise<Recording> {
  return recordAll([plan], before);
}

/** One program after the other, in the same folder and without a sync between them. */
export async function recordAll(
  plans: readonly Plan[],
  before: ReadonlyMap<string, Uint8Array> = new Map(),
): Promise<Recording> {
  const folder = await Deno.realPath(await Deno.makeTempDir({ prefix: "daybook_cut_" }));
  const output = await Deno.makeTempFile({ prefix: "daybook_trace_" });
  try {
    writeFiles(folder, before);
    const codes: number[] = [];
    let [begin, text] = [0, ""];
    for (const plan of plans) {
      begin = text.split("\n").length - 1;
      codes.push((await runTraced(plan, folder, output)).code);
      text += await Deno.readTextFile(output);
    }
    const exitCode = codes.pop()!;
    const trace = readDiskTrace(text, folder, before);
    const acknowledged = trace.told.flatMap(({ line, text }) =>
      text.startsWith("ack ") ? [{ line, number: Number(text.slice(4)) }] : []
    );
    const left = readFiles(folder);
    return { trace, acknowledged, exitCode, earlierCodes: codes, begin, left };
  } finally {
    await Deno.remove(folder, { recursive: true });
    await Deno.remove(output);
  }
}

async function runTraced(plan: Plan, folder: string, output: string) {
  const { seed, first, count, atOnce, end, faults = [], faulty = STORE_ENDS } = plan;
  const numbers = [seed, first, count, atOnce].map(String);
  const options = ["-f", "-y", "-xx", "-s", String(STRING_BYTES_MAX), "-o", output];
  const traced = ["-e", `trace=${TRACED_CALLS.join(",")}`, "-e", "signal=none"];
  // Injected faults would not take effect with a filter in the kernel.
  const fast = faults.length === 0 ? ["--seccomp-bpf"] : [];
  const injected = faults.flatMap((fault) => ["-e", `inject=${fault}`]);
  const onlyThere = faults.length === 0
    ? []
    : storePaths(folder, faulty).flatMap((path) => ["-P", path]);
  return await new Deno.Command("strace", {
    args: [...options, ...fast, ...traced, ...injected, ...onlyThere, Deno.execPath()]
      .concat(["run", "-A", "--no-lock", PROGRAM, `${folder}/${STORE}`, ...numbers, end]),
    env: { DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    stdout: "null",
    stderr: "null",
  }).output();
}

/**
 * Restricts the faults to the files of the store. The program's output is a write as well; it
 * stays visible in the trace if the database is among them.
 */
function storePaths(folder: string, ends: readonly string[]): string[] {
  const folders = ends === STORE_ENDS ? [folder] : [];
  const output = ends.includes("") ? ["/dev/null"] : [];
  return [...folders, ...ends.map((end) => `${folder}/${STORE}${end}`), ...output];
}

export function writeFiles(folder: string, files: ReadonlyMap<string, Uint8Array>): void {
  for (const [name, bytes] of files) Deno.writeFileSync(`${folder}/${name}`, bytes);
}

export function readFiles(folder: string): Map<string, Uint8Array> {
  const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
  return new Map(
    names.filter((name) => !/-shm$|\.lock$/.test(name))
      .map((name) => [name, Deno.readFileSync(`${folder}/${name}`)]),
  );
}
