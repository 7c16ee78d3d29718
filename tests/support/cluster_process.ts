/**
 * A FoundationDB cluster of one process, started as a child by `scripts/run_foundationdb.sh`.
 * Tests can kill it as a power cut would and restart it on the same folder, or suspend it.
 */

export interface ClusterOptions {
  /** Both keep their data on disk; "memory" writes less. Default: memory. */
  readonly storage?: "memory" | "ssd";
  /** Kept when the cluster stops. Default: a temporary folder, which `stop` removes. */
  readonly folder?: string;
  /** A command that runs its arguments, such as `nice`. */
  readonly wrapper?: readonly string[];
}

export interface ClusterProcess {
  readonly clusterFile: string;
  /** Process id of the `fdbserver` that runs now, or that ran last. */
  serverPid(): number;
  /** Sends SIGSTOP: connections stay open and nothing is answered. */
  pause(): void;
  /** Sends SIGCONT. */
  resume(): void;
  /** Sends SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** After `kill`: starts on the same folder and port; resolves when the database answers. */
  restart(): Promise<void>;
  /** Stops in an orderly way, whatever state the server is in. */
  stop(): Promise<void>;
}

const SCRIPT = new URL("../../scripts/run_foundationdb.sh", import.meta.url).pathname;
const PROGRAM_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin"];
const START_FAILED_LINES = 20;

/**
 * Returns what is missing to reach a cluster or, with `isStarting`, to start one; undefined if
 * nothing is.
 */
export function missingForCluster(isStarting: boolean): string | undefined {
  const programs = isStarting ? ["fdbserver", "fdbcli"] : [];
  const path = [...(Deno.env.get("PATH") ?? "").split(":"), ...PROGRAM_FOLDERS];
  const absent = programs.filter((name) => !path.some((folder) => isFile(`${folder}/${name}`)));
  try {
    Deno.dlopen("libfdb_c.so", {}).close();
  } catch {
    absent.push("libfdb_c.so");
  }
  return absent.length === 0 ? undefined : `${absent.join(", ")} not installed`;
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/**
 * Starts a cluster on a free loopback port; resolves when its database answers.
 * @throws {Error} with the script's output if the database does not come up.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<ClusterProcess> {
  const folder = options.folder ?? await Deno.makeTempDir({ prefix: "foundationdb_" });
  let script = await runScript(folder, options);
  const serverPid = () => Number(Deno.readTextFileSync(`${folder}/fdbserver.pid`));
  const signal = (name: Deno.Signal) => Deno.kill(serverPid(), name);
  let isRunning = true;
  return {
    clusterFile: `${folder}/fdb.cluster`,
    serverPid,
    pause: () => signal("SIGSTOP"),
    resume: () => signal("SIGCONT"),
    async kill() {
      signal("SIGKILL");
      isRunning = false;
      // The script ends by itself when its server does.
      await script.status;
    },
    async restart() {
      script = await runScript(folder, options);
      isRunning = true;
    },
    async stop() {
      if (isRunning) {
        signal("SIGCONT");
        script.kill("SIGTERM");
        await script.status;
      }
      if (options.folder === undefined) await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Resolves when the database answers; the script keeps running. */
async function runScript(
  folder: string,
  { storage = "memory", wrapper = [] }: ClusterOptions,
): Promise<Deno.ChildProcess> {
  const options = storage === "memory" ? ["--memory"] : [];
  const errors = `${folder}/start.err`;
  const child = new Deno.Command("sh", {
    // The script's stderr goes to a file: a pipe would have to be drained all the time.
    args: ["-c", 'exec "$@" 2>"$ERRORS"', "sh", ...wrapper, "sh", SCRIPT, ...options, folder],
    env: { UNTIL_PID: String(Deno.pid), ERRORS: errors },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes("\n");) {
    const { value, done } = await reader.read();
    if (done) {
      await child.status;
      const lines = (await Deno.readTextFile(errors)).split("\n").slice(-START_FAILED_LINES);
      throw new Error(`scripts/run_foundationdb.sh ended:\n${lines.join("\n")}`);
    }
    text += value;
  }
  await reader.cancel();
  return child;
}
