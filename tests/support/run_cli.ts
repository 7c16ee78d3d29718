/** Runs the command line as a person does, in a process of its own, and waits for its end. */

const ROOT = new URL("../../", import.meta.url);

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Seconds after which SIGINT ends it, as Ctrl-C does. */
  readonly killAfter?: number;
}

/** The options of the task of the same name. */
async function taskOptions(): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  return (config.tasks.daybook as string).split(" ").filter((word) => word.startsWith("--"));
}

export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, input = "", killAfter } = options;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...await taskOptions(), `--allow-run=${Deno.execPath()}`, "main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const timer = killAfter && setTimeout(() => child.kill("SIGINT"), killAfter * 1000);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  clearTimeout(timer);
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}
