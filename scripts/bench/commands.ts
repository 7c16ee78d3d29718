/** Commands of Daybook, run to their end. */

import { join } from "node:path";
import type { ServerProcess } from "../../tests/support/server_process.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const LOOK_EVERY_MS = 100;

export interface TimedCommand {
  readonly seconds: number;
  /** Of its memory, in MiB. */
  readonly peakMb: number;
}

export function daybook(...args: readonly string[]): string[] {
  return [Deno.execPath(), "run", "-A", join(ROOT, "main.ts"), ...args];
}

/** How a command finds the running server. */
export function envOf({ dataDir, baseUrls }: ServerProcess): Record<string, string> {
  const { hostname, port } = new URL(baseUrls.production);
  return { DAYBOOK_DATA_DIR: dataDir, DAYBOOK_HOST: hostname, DAYBOOK_PORT: port };
}

/** Runs a command to its end. @throws {Error} with what it said if it fails. */
export async function timed(
  [program, ...args]: readonly string[],
  env: Record<string, string> = {},
): Promise<TimedCommand> {
  const begunMs = performance.now();
  const child = new Deno.Command(program!, { args, env, stdout: "piped", stderr: "piped" }).spawn();
  let peakMb = 0;
  const watch = setInterval(async () => {
    peakMb = Math.max(peakMb, await peakOf(child.pid));
  }, LOOK_EVERY_MS);
  const { code, stderr } = await child.output();
  clearInterval(watch);
  if (code !== 0) throw new Error(`${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  return { seconds: (performance.now() - begunMs) / 1000, peakMb };
}

/** The most resident memory of a process so far, in MiB; 0 if it has ended. */
export async function peakOf(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "");
  return Number(/VmHWM:\s*(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}
