/**
 * The package of the client as a user has it: packed by npm, and installed into a project with a
 * lock file of its own, on the Node of this machine.
 */

import { delimiter, join } from "node:path";
import { writePackage } from "../../../scripts/pack.ts";

const HERE = new URL(".", import.meta.url);
const NODE_MIN = 20;
const COMMAND_MS_MAX = 240_000;

export interface Project extends AsyncDisposable {
  readonly folder: string;
  write(path: string, text: string): Promise<void>;
  /** Runs a command in the project; throws with its output if it fails. */
  run(command: string, args: readonly string[], env?: Record<string, string>): Promise<string>;
}

/** Why the package cannot be tried here; undefined if it can. */
export async function missingForProject(): Promise<string | undefined> {
  for (const name of ["node", "npm"]) {
    if (findCommand([name]) === undefined) return `there is no ${name}`;
  }
  const { stdout } = await new Deno.Command("node", { args: ["--version"] }).output();
  const version = new TextDecoder().decode(stdout).trim();
  const major = Number(/^v(\d+)\./.exec(version)?.[1]);
  return major >= NODE_MIN ? undefined : `Node is ${version}, and ${NODE_MIN} is needed`;
}

/** The path of the first of these commands that is on the PATH. */
export function findCommand(names: readonly string[]): string | undefined {
  return (Deno.env.get("PATH") ?? "").split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isFile);
}

export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

export async function openProject(): Promise<Project> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_project_" });

  async function run(command: string, args: readonly string[], env: Record<string, string> = {}) {
    const { success, stdout, stderr } = await new Deno.Command(command, {
      args: [...args],
      cwd: folder,
      env: { NO_COLOR: "1", ...env },
      signal: AbortSignal.timeout(COMMAND_MS_MAX),
    }).output();
    const [out, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
    if (!success) throw new Error(`${command} ${args.join(" ")}:\n${out}\n${errors}`);
    return out!;
  }

  const project: Project = {
    folder,
    run,
    async write(path, text) {
      const file = join(folder, path);
      await Deno.mkdir(join(file, ".."), { recursive: true });
      await Deno.writeTextFile(file, text);
    },
    async [Symbol.asyncDispose]() {
      await Deno.remove(folder, { recursive: true });
    },
  };
  try {
    for (const name of ["package.json", "package-lock.json"]) {
      await Deno.copyFile(new URL(name, HERE), join(folder, name));
    }
    const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await writePackage(join(folder, "client"));
    const packed = await run("npm", ["pack", "--loglevel=error", "./client"]);
    await run("npm", ["ci", ...quiet]);
    await run("npm", ["install", "--no-save", ...quiet, `./${packed.trim()}`]);
    return project;
  } catch (error) {
    await project[Symbol.asyncDispose]();
    throw error;
  }
}
