/**
 * A FoundationDB cluster of one process as a child of the tests, by `scripts/run_foundationdb.sh`:
 * it can be killed like a power cut and started again over the same folder, or held still.
 */

export interface ClusterOptions {
  /** Both keep their data on disk; memory writes less. Default: memory. */
  readonly storage?: "memory" | "ssd";
  /** Kept when the cluster stops. Without it: a temporary folder that `stop` removes. */
  readonly folder?: string;
}

export interface ClusterProcess {
  readonly clusterFile: string;
  /** Process of the `fdbserver` that runs now, or ran last. */
  serverPid(): number;
  /** SIGSTOP: connections stay open and nothing is answered. */
  pause(): void;
  /** SIGCONT. */
  resume(): void;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
  /** After `kill`: starts over the same folder and port; resolves when the database answers. */
  restart(): Promise<void>;
  /** An orderly end, in whatever state the server is. */
  stop(): Promise<void>;
}

const SCRIPT = new URL("../../scripts/run_foundationdb.sh", import.meta.url).pathname;
const PROGRAM_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin"];
const START_FAILED_LINES = 20;

/** What it takes to reach a cluster, and with `isStarting` to start one; undefined: all is here. */
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
 * @throws {Error} with what the script printed, when it does not.
 */
export async function startCluster(options: ClusterOptions = {}): Promise<ClusterProcess> {
  const folder = options.folder ?? await Deno.makeTempDir({ prefix: "foundationdb_" });
  let script = await runScript(folder, options.storage ?? "memory");
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
      script = await runScript(folder, options.storage ?? "memory");
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

/** Resolves when the database answers; the script goes on running. */
async function runScript(folder: string, storage: string): Promise<Deno.ChildProcess> {
  const options = storage === "memory" ? ["--memory"] : [];
  const errors = `${folder}/start.err`;
  const child = new Deno.Command("sh", {
    // What the script has to say goes to a file: a pipe would have to be read all the time.
    args: ["-c", 'exec sh "$0" "$@" 2>"$ERRORS"', SCRIPT, ...options, folder],
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
