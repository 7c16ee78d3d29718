/** Runs the command line as a person does, in a process of its own. */

const ROOT = new URL("../../", import.meta.url);

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

export interface RunningCli {
  /** What it has printed so far. */
  stdout(): string;
  stderr(): string;
  /** Sends SIGINT, as Ctrl-C does, and resolves with the exit code. */
  interrupt(): Promise<number>;
}

/** The options of the task of the same name. */
async function taskOptions(): Promise<string[]> {
  const config = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  return (config.tasks.daybook as string).split(" ").filter((word) => word.startsWith("--"));
}

async function spawn(args: readonly string[], env: Readonly<Record<string, string>>) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", ...await taskOptions(), `--allow-run=${Deno.execPath()}`, "main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

/** Waits for the end of the command. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { env = {}, input = "" } = options;
  const child = await spawn(args, env);
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

/** Starts a command that runs until it is stopped. */
export async function startCli(
  args: readonly string[],
  { env = {} }: RunOptions = {},
): Promise<RunningCli> {
  const child = await spawn(args, env);
  const told = { stdout: "", stderr: "" };
  async function read(name: "stdout" | "stderr"): Promise<void> {
    for await (const text of child[name].pipeThrough(new TextDecoderStream())) told[name] += text;
  }
  const drained = Promise.all([read("stdout"), read("stderr"), child.stdin.close()]);
  let hasEnded = false;
  const status = child.status.then(async ({ code }) => {
    hasEnded = true;
    await drained;
    return code;
  });
  return {
    stdout: () => told.stdout,
    stderr: () => told.stderr,
    async interrupt() {
      if (!hasEnded) child.kill("SIGINT");
      return await status;
    },
  };
}
