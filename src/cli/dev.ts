/**
 * `dev`: a server for development with one command. It has a store of its own, which is empty at
 * the start and gone at the end, deploys a spec whenever its file changes, and begins with events
 * from a file.
 */

import { type Config, readVariables } from "../config.ts";
import type { JsonObject } from "../domain/json.ts";
import { writeTypes } from "../domain/spec/shapes/write_types.ts";
import { systemHost } from "../host.ts";
import { counted } from "./spec/show_data_check.ts";
import { deployAndTell, readDeployed } from "./spec/deploy.ts";
import { developmentFolder, type LocalServer, serverOf } from "./connection/find_server.ts";
import { openOutput, type Output } from "./terminal/output.ts";
import { readSeedFile } from "./seed_file.ts";
import { type CommonOptions, openSessionWith, type Session } from "./connection/session.ts";
import { EXIT_FAILED, reasonOf, settingsOrExit } from "./terminal/settings.ts";
import { LIMITER_PATH } from "../runners/memory_limit.ts";
import { denoProgram } from "./spec/spec_file.ts";
import { type WatchedFile, watchFiles } from "./spec/watch_files.ts";
import { actorTypes } from "./data/write.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

export interface DevOptions extends Pick<CommonOptions, "env"> {
  /** A file of events to begin with. */
  readonly data?: string;
  /** A folder for the store, which is then kept. */
  readonly keep?: string;
  /** Where the TypeScript types of the spec are written after each deploy. */
  readonly types?: string;
}

/** The folder of this program. */
const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);
/** Files that are taken for the spec if none is named. */
const USUAL_NAMES = ["spec.ts", "spec.json", "spec.jsonc"];
/** What `daybook types` calls them, too. */
const TYPES_NAME = "Types";
const READY = "Daybook is ready.";

interface RunningServer {
  readonly server: LocalServer;
  end(): Promise<void>;
}

export async function dev(named: string | undefined, options: DevOptions): Promise<void> {
  const output = openOutput({});
  const config = settingsOrExit();
  const path = named ?? await usualSpec();
  const folder = absolute(options.keep ?? developmentFolder(config.dataDir));
  const isFresh = options.keep === undefined;
  const place: Place = { folder, isFresh };
  const death = Promise.withResolvers<void>();
  let running = await begin(output, config, place, death.resolve);
  let session = await sessionWith(running.server, output, options);
  const signal = untilStopped();

  async function deploySpec(): Promise<number | void> {
    if (path === undefined) return;
    const againMs = await deployAndTell(session, path, { force: true });
    if (options.types !== undefined) await writeTypesOf(session, options.types);
    return againMs;
  }
  async function reload(): Promise<void> {
    if (!isFresh) return output.note("The store is kept, so events are not loaded again.");
    output.note(`${options.data} has changed: starting anew.`);
    await running.end();
    running = await begin(output, config, place, death.resolve);
    session = await sessionWith(running.server, output, options);
    await deploySpec();
    await loadSeed(session, options.data!);
  }

  announce(session, running.server, path);
  await deploySpec();
  if (options.data !== undefined) await loadSeed(session, options.data);
  const files: WatchedFile[] = [
    ...(path === undefined ? [] : [{ path, run: deploySpec }]),
    ...(options.data === undefined ? [] : [{ path: options.data, run: reload }]),
  ];
  const watching = files.length === 0 ? undefined : watchFiles(files);
  const names = files.map((file) => file.path).join(" and ");
  output.note(`${names === "" ? "" : `Watching ${names}. `}Ctrl-C ends.`);
  const hasDied = await Promise.race([signal, death.promise.then(() => true)]);
  watching?.stop();
  // It may be one that is still starting.
  if (place.child !== undefined) await end(place.child);
  if (isFresh) await removeFolders(folder, config.dataDir);
  if (hasDied) return output.fail({ error: "The server has ended.", error_type: "no_server" });
  Deno.exit(0);
}

/** Types of what is deployed; a spec that was refused changes nothing. */
async function writeTypesOf(session: Session, out: string): Promise<void> {
  const deployed = await readDeployed(session);
  if (!deployed.ok || deployed.spec === undefined) return;
  try {
    await Deno.writeTextFile(out, writeTypes(deployed.spec, TYPES_NAME));
  } catch (error) {
    session.output.note(`${out} cannot be written: ${reasonOf(error)}`);
  }
}

async function usualSpec(): Promise<string | undefined> {
  for (const name of USUAL_NAMES) {
    const isThere = await Deno.stat(name).then(() => true, () => false);
    if (isThere) return name;
  }
}

function absolute(path: string): string {
  return path.startsWith("/") ? path : `${Deno.cwd()}/${path}`.replaceAll("/./", "/");
}

function untilStopped(): Promise<false> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => resolve(false));
    }
  });
}

/** The data folder around it goes, too, if there is nothing else in it. */
async function removeFolders(folder: string, dataDir: string): Promise<void> {
  await Deno.remove(folder, { recursive: true });
  await Deno.remove(dataDir).catch(() => {});
}

interface Place {
  readonly folder: string;
  readonly isFresh: boolean;
  /** The server that was started last. */
  child?: Deno.ChildProcess;
}

/**
 * Starts the server, and waits until it is ready. `onDeath` is called if
 * it ends without being told to.
 */
async function begin(
  output: Output,
  config: Config,
  place: Place,
  onDeath: () => void,
): Promise<RunningServer> {
  const { folder, isFresh } = place;
  if (isFresh) await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  const progress = output.progress("Starting the server");
  const child = new Deno.Command(denoProgram(), {
    args: ["run", ...await serverOptions(folder, config), `${ROOT}main.ts`, "serve"],
    // Keys that are the same each time, so that programs may have them in their settings.
    env: {
      DAYBOOK_DEV_KEYS: "true",
      ...readVariables() as Record<string, string>,
      DAYBOOK_DATA_DIR: folder,
    },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  place.child = child;
  const log = { text: "" };
  void tellLog(output, child.stderr, log);
  const isReady = await sawReady(child.stdout);
  progress.end();
  const server = isReady ? await serverOf(systemHost(), config, folder) : undefined;
  if (server !== undefined) {
    let isWanted = true;
    void child.status.then(() => isWanted && onDeath());
    const stop = () => {
      isWanted = false;
      return end(child);
    };
    return { server, end: stop };
  }
  await child.status;
  return output.fail({
    error: "The server did not start.",
    error_type: "no_server",
    ...(log.text.trim() !== "" && { hint: log.text.trim() }),
  }, EXIT_FAILED);
}

/** What a server with the embedded store needs, and no more. */
async function serverOptions(folder: string, { tls }: Config): Promise<string[]> {
  const data = [...new Set([folder, await Deno.realPath(folder)])];
  const files = tls === undefined ? [] : [tls.certPath, tls.keyPath];
  return [
    `--config=${ROOT}deno.json`,
    "--frozen",
    "--no-prompt",
    "--allow-net",
    "--allow-env",
    "--allow-sys=hostname,statfs",
    `--allow-read=${[`${ROOT}src`, ...data, ...files].join(",")}`,
    `--allow-write=${data.join(",")}`,
    `--allow-run=${Deno.execPath()},${LIMITER_PATH}`,
    "--deny-ffi",
  ];
}

async function sawReady(stdout: ReadableStream<Uint8Array>): Promise<boolean> {
  const decoder = new TextDecoder();
  let text = "";
  // The rest is read, too, so that the server never waits for a reader.
  return await new Promise((resolve) => {
    void stdout.pipeTo(
      new WritableStream({
        write(chunk) {
          text = (text + decoder.decode(chunk, { stream: true })).slice(-4096);
          if (text.includes(READY) && text.includes("credentials.json")) resolve(true);
        },
      }),
    ).finally(() => resolve(false));
  });
}

/** Shows errors of the server's log; the rest is for machines. */
async function tellLog(
  output: Output,
  stderr: ReadableStream<Uint8Array>,
  log: { text: string },
): Promise<void> {
  let rest = "";
  for await (const chunk of stderr.pipeThrough(new TextDecoderStream() as never)) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const { level, message, ...fields } = parsed(line);
      if (level === undefined) log.text += `${line}\n`;
      if (level !== "error") continue;
      const { time: _, ...more } = fields;
      output.note(`server: ${message} ${JSON.stringify(more)}`);
    }
  }
}

function parsed(line: string): JsonObject {
  try {
    return parseJson(line);
  } catch {
    return {};
  }
}

async function end(child: Deno.ChildProcess): Promise<void> {
  try {
    child.kill("SIGTERM");
  } catch {
    // It has ended already, as after Ctrl-C, which the whole group gets.
  }
  await child.status;
}

async function sessionWith(server: LocalServer, output: Output, options: DevOptions) {
  return await openSessionWith(server, options, { host: systemHost(), output });
}

function announce(
  { environment, output: { paint, note } }: Session,
  { urls, keys, origin }: LocalServer,
  path: string | undefined,
): void {
  const lines = [
    paint("bold", "Daybook for development"),
    `  ${environment.padEnd(11)} ${paint("blue", urls[environment])}`,
    `  ${"API key".padEnd(11)} ${keys[environment]}`,
    `  ${"others".padEnd(11)} ${origin.replace("the server of ", "")}/credentials.json`,
    "",
    paint(
      "dim",
      "  Commands in this folder call this server: daybook state, write, events tail, ...",
    ),
  ];
  if (path === undefined) lines.push("", "No spec yet: name its file, or call it spec.json.");
  note(lines.join("\n") + "\n");
}

/** Imports the events, which sets nothing off. */
async function loadSeed(session: Session, path: string): Promise<void> {
  const { host, output, environment } = session;
  const types = await actorTypes(session);
  const nowSeconds = Math.floor(host.nowMs() / 1000);
  const read = await readSeedFile(path, {
    actorType: types.length === 1 ? types[0] : undefined,
    nowSeconds,
  });
  if (!read.ok) return output.note(`${output.paintError("red", "error:")} ${read.error}`);
  const text = read.events.map((event) => `${JSON.stringify(event)}\n`).join("");
  const answer = await session.tryOperator({
    method: "POST",
    path: "/_admin/import_jsonl",
    query: { environment, instance_id: await session.instanceId(), import_id: "development" },
    body: new TextEncoder().encode(text),
    headers: { "content-type": "application/x-ndjson" },
  });
  if (answer.ok) {
    return output.note(`Loaded ${counted(Number(answer.body.written), "event")} from ${path}.`);
  }
  const { error, path: place, line } = answer.failure;
  const where = line === undefined ? path : `${path}: event ${line}`;
  output.note(`${output.paintError("red", "error:")} ${where}: ${error} ${place ?? ""}`.trim());
}
