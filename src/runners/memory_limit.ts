/**
 * A limit on the memory of a process, kept by the operating system: engine, native code and buffers
 * together. At the limit an allocation fails: SQLite and buffers say so, and the engine ends its
 * process. And no runner outlives the process that started it, whatever it does at that moment: the
 * system ends it. Needs Linux, and `prlimit` and `setpriv` of util-linux, which become the process
 * itself one after the other.
 */

/** What to start. */
export interface RunnerCommand {
  readonly path: string;
  readonly args: readonly string[];
  /** Its whole environment; empty without it. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Named among the permissions of the server (`deno.json`, `Dockerfile`). */
export const LIMITER_PATH = "/usr/bin/prlimit";
/** Has the system end a process with its parent. The other starts it: it needs no permission. */
const BINDER = ["/usr/bin/setpriv", "--pdeathsig", "KILL"];

const MEBIBYTE = 1024 * 1024;
/**
 * What the system counts although nobody uses it: the room that the engine reserves for code, and
 * the stacks of its threads, of which it has as many as there are cores, at most 16.
 */
const CODE_ROOM_BYTES = 512 * MEBIBYTE;
const STACK_BYTES = 8 * MEBIBYTE;
const THREADS_MAX = 16;

let isFound: boolean | undefined;

/** Whether processes can be limited here. Looked at once. */
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
 * The same command with at most `bytesMax` of memory of its own, and without a core file, which
 * would hold what users sent. The same command as it is where there is no such limit.
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
