/**
 * Limits the memory of a process through the operating system. The limit covers the engine,
 * native code and buffers together. At the limit an allocation fails: SQLite and buffers report
 * it, and the engine ends its process.
 *
 * The system also ends each runner when the process that started it ends, whatever the runner
 * does at that moment. All this needs Linux, and `prlimit` and `setpriv` of util-linux, each of
 * which replaces itself with the next program.
 */

/** The command that starts a runner. */
export interface RunnerCommand {
  readonly path: string;
  readonly args: readonly string[];
  /** Its whole environment; empty by default. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The server needs the permission to run it (`deno.json`, `Dockerfile`). */
export const LIMITER_PATH = "/usr/bin/prlimit";
/** Makes the system end a process with its parent. `prlimit` starts it: it needs no permission. */
const BINDER = ["/usr/bin/setpriv", "--pdeathsig", "KILL"];

const MEBIBYTE = 1024 * 1024;
/**
 * What the system counts although nothing uses it: the room that the engine reserves for code,
 * and the stacks of its threads (one thread for each core, at most 16).
 */
const CODE_ROOM_BYTES = 512 * MEBIBYTE;
const STACK_BYTES = 8 * MEBIBYTE;
const THREADS_MAX = 16;

let isFound: boolean | undefined;

/** Whether processes can be limited here. Checked once. */
export function canLimitMemory(): boolean {
  return isFound ??= Deno.build.os === "linux" && answers(LIMITER_PATH, BINDER);
}

function answers(path: string, next: readonly string[]): boolean {
  try {
    const command = new Deno.Command(path, {
      args: ["--core=0", ...next, path, "--version"],
      stdout: "null",
      stderr: "null",
    });
    return command.outputSync().success;
  } catch {
    // It is not there, or may not be run.
    return false;
  }
}

/**
 * Returns the command with at most `bytesMax` of memory of its own, and without a core file,
 * which would hold what users sent. Returns it unchanged where such a limit is not possible.
 */
export function limitMemory(command: RunnerCommand, bytesMax: number): RunnerCommand {
  if (!canLimitMemory()) return command;
  const dataBytes = bytesMax + reservedBytes(navigator.hardwareConcurrency);
  const limits = [`--data=${dataBytes}`, "--core=0"];
  const args = [...limits, ...BINDER, command.path, ...command.args];
  return { ...command, path: LIMITER_PATH, args };
}

function reservedBytes(cores: number): number {
  return CODE_ROOM_BYTES + STACK_BYTES * Math.min(cores, THREADS_MAX);
}
