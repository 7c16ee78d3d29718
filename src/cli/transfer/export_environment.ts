/** `export`: writes one environment of an instance to a file that `import` reads on any engine. */

import { exportEnvironment, type Spool } from "../../features/transfer/export_environment.ts";
import { type Environment, parseEnvironment } from "../../domain/tenant.ts";
import type { FileCounts } from "../../domain/transfer/record.ts";
import type { WorkText } from "../../domain/transfer/work.ts";
import { type Host, systemHost } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  type InstanceRecord,
  listInstances,
  readInstanceBySlug,
} from "../../store/access/instances.ts";
import { createExportFile } from "./export_file.ts";
import { complain } from "../terminal/print.ts";
import {
  EXIT_FAILED,
  EXIT_MISUSED,
  exitWith,
  reasonOf,
  settingsOrExit,
} from "../terminal/settings.ts";
import { describeCounts, openStoreOrExit, progressReport, seconds } from "./transfer_settings.ts";
import { createLineSplitter } from "../../domain/transfer/split_lines.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface ExportOptions {
  readonly instance?: string;
  readonly environment: string;
  readonly out: string;
  readonly withSigningKeys?: boolean;
  /** Of events alone, which a running server gives: as which lines, and behind which cursor. */
  readonly format?: string;
  readonly since?: string;
  /** Instead of events, the rows of this projection. */
  readonly projection?: string;
  readonly url?: string;
  readonly profile?: string;
}

export async function exportToFile(options: ExportOptions): Promise<void> {
  const config = settingsOrExit();
  const environment = environmentOrExit(options.environment);
  const host = systemHost();
  const engine = await openStoreOrExit(config, host, "export");
  const beganMs = host.nowMs();
  try {
    const instance = await findInstance(engine, options.instance);
    const counts = await writeFile(engine, host, { instance, environment }, options);
    const what = `${environment} of '${instance.slug}'`;
    const time = seconds(host.nowMs() - beganMs);
    complain(`Exported ${what}: ${describeCounts(counts)} in ${time}`);
  } catch (error) {
    await engine.close();
    exitWith(EXIT_FAILED, `Nothing was exported: ${reasonOf(error)}`);
  }
  await engine.close();
  Deno.exit(0);
}

/** Reads the value of `--environment`; prints the fault and ends the process if it is none. */
export function environmentOrExit(text: string): Environment {
  const environment = parseEnvironment(text);
  if (environment !== undefined) return environment;
  exitWith(EXIT_MISUSED, `--environment must be production, staging or test, not '${text}'`);
}

async function findInstance(engine: Engine, slug: string | undefined): Promise<InstanceRecord> {
  const instances = await engine.snapshot((tx) => listInstances(tx));
  const names = instances.map((instance) => instance.slug).join(", ");
  if (slug !== undefined) {
    const found = await engine.snapshot((tx) => readInstanceBySlug(tx, slug));
    if (found !== undefined) return found;
    throw new Error(`there is no instance '${slug}' here (there is: ${names || "none"})`);
  }
  const [first, second] = instances;
  if (first === undefined) throw new Error("there is no instance in this store");
  if (second === undefined) return first;
  throw new Error(`there are several instances (${names}); name one with --instance`);
}

interface ExportedPlace {
  readonly instance: InstanceRecord;
  readonly environment: Environment;
}

async function writeFile(
  engine: Engine,
  host: Host,
  { instance, environment }: ExportedPlace,
  { out, withSigningKeys = false }: ExportOptions,
): Promise<FileCounts> {
  const file = await createExportFile(out);
  const spool = await openExportSpool();
  try {
    const request = { instance, environment, withSigningKeys };
    const onProgress = progressReport(host, "exported");
    const tools = { output: file.write, spool, onProgress };
    const counts = await exportEnvironment(engine, host, request, tools);
    await file.publish();
    return counts;
  } catch (error) {
    await file.discard().catch(() => {});
    throw error;
  } finally {
    await spool.close();
  }
}

const OWNER_ONLY = 0o600;

interface ExportSpool extends Spool {
  /** Removes the folder. */
  close(): Promise<void>;
}

/**
 * Keeps what a round of an export has read until it is needed. The items are JSON lines in a
 * temporary folder, read back once in the order in which they were written.
 */
async function openExportSpool(): Promise<ExportSpool> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_export_" });
  const encoder = new TextEncoder();
  let turns = 0;

  function path(turn: number): string {
    return `${folder}/turn_${turn}`;
  }

  return {
    async append(items) {
      const text = items.map((item) => JSON.stringify(item) + "\n").join("");
      const options = { append: true, create: true, mode: OWNER_ONLY };
      await Deno.writeFile(path(turns), encoder.encode(text), options);
    },
    async turn() {
      const before = turns++;
      if (before > 0) await removeIfThere(path(before - 1));
      return readBack(path(before));
    },
    close: () => Deno.remove(folder, { recursive: true }),
  };
}

async function* readBack(path: string): AsyncGenerator<WorkText> {
  const file = await openIfThere(path);
  if (file === undefined) return;
  const decoder = new TextDecoder();
  const splitter = createLineSplitter();
  for await (const chunk of file.readable) {
    for (const line of splitter.push(chunk)) yield parseJson(decoder.decode(line));
  }
}

/** Returns undefined if nothing was appended: the round was empty, or memory could hold it. */
async function openIfThere(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
