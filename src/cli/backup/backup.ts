/**
 * `backup`: writes one file with the whole deployment as of one moment. It asks the server that
 * runs, or reads the store itself where none runs. `backup --verify` checks such a file.
 */

import type { BackupEnd, BackupHeader } from "../../domain/backup/backup_file.ts";
import { BackupDamaged, readBackup } from "../../domain/backup/read_backup.ts";
import { writeBackup } from "../../features/backup/write_backup.ts";
import { type Host, systemHost } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readPrivateFiles } from "../../private_files.ts";
import { readClientSettings } from "../connection/client_settings.ts";
import { createExportFile, readInput } from "../transfer/export_file.ts";
import { findServer } from "../connection/find_server.ts";
import { openOutput, type Output, type Progress } from "../terminal/output.ts";
import { openStream } from "../connection/remote.ts";
import type { CommonOptions } from "../connection/session.ts";
import { EXIT_MISUSED, reasonOf, settingsOrExit } from "../terminal/settings.ts";
import { openStoreOrExit } from "../transfer/transfer_settings.ts";

export interface BackupOptions extends CommonOptions {
  readonly out?: string;
  readonly verify?: string;
}

/** What a whole backup says of itself. */
interface Summary extends BackupHeader, BackupEnd {}

type Bytes = Uint8Array<ArrayBuffer>;

const BYTES_PER_MB = 1_000_000;

export async function backup(options: BackupOptions): Promise<void> {
  const output = openOutput(options);
  if (options.verify !== undefined) return await verify(options.verify, output);
  if (options.out === undefined) {
    return output.fail({
      error: "A backup needs the name of the file to make.",
      error_type: "misused",
      hint: "daybook backup --out <file>, or daybook backup --verify <file>",
    }, EXIT_MISUSED);
  }
  const host = systemHost();
  const source = await openSource(host, options, output);
  const progress = output.progress("Backing up");
  try {
    const summary = await save(source.bytes, options.out, progress);
    progress.end();
    await source.close();
    output.result({ file: options.out, ...summary }, () => `${options.out}: ${describe(summary)}`);
  } catch (error) {
    progress.end();
    await source.close();
    output.fail({ error: `No backup was made: ${reasonOf(error)}`, error_type: "failed" });
  }
  Deno.exit(0);
}

interface Source {
  readonly bytes: AsyncIterable<Bytes>;
  close(): Promise<void>;
}

/** The server that options and settings name, else the store in the data folder. */
async function openSource(host: Host, options: BackupOptions, output: Output): Promise<Source> {
  const settings = readClientSettings();
  const found = await findServer(host, settings, options);
  const isNamed =
    (options.url ?? options.profile ?? settings.url ?? settings.profile) !== undefined;
  if (found.ok) {
    const { url, token } = found.server;
    const call = { base: url, path: "/_admin/backup", as: "operator" as const };
    const answer = await openStream(host, { token }, call);
    if (answer.ok) return { bytes: answer.stream as ReadableStream<Bytes>, close: async () => {} };
    if (isNamed || answer.failure.error_type !== "unreachable") return output.fail(answer.failure);
  } else if (isNamed) {
    return output.fail({ ...found, error_type: "no_server" }, EXIT_MISUSED);
  }
  return await openStore(host);
}

async function openStore(host: Host): Promise<Source> {
  const config = settingsOrExit();
  const engine: Engine = await openStoreOrExit(config, host, "back it up");
  const bytes = writeBackup(engine, host, {
    store: config.store,
    readPrivateFiles: () => readPrivateFiles(config.dataDir),
  });
  return { bytes, close: () => engine.close() };
}

/** Checks what is written on the way; the file gets its name only if all of it is right. */
async function save(
  bytes: AsyncIterable<Bytes>,
  path: string,
  progress: Progress,
): Promise<Summary> {
  const file = await createExportFile(path);
  let taken = 0;

  async function* written(): AsyncGenerator<Bytes> {
    for await (const chunk of bytes) {
      await file.write(chunk);
      taken += chunk.length;
      progress.say(`Backing up: ${Math.floor(taken / BYTES_PER_MB)} MB`);
      yield chunk;
    }
  }

  try {
    const summary = await summarize(written());
    await file.publish();
    return summary;
  } catch (error) {
    await file.discard().catch(() => {});
    throw error;
  }
}

async function verify(path: string, output: Output): Promise<void> {
  try {
    const summary = await summarize(readInput(path));
    output.result({ file: path, ...summary }, () => `${path} is whole: ${describe(summary)}`);
  } catch (error) {
    const error_type = error instanceof BackupDamaged ? "damaged" : "failed";
    output.fail({ error: `${path}: ${reasonOf(error)}`, error_type });
  }
}

/** @throws {BackupDamaged} */
async function summarize(bytes: AsyncIterable<Uint8Array>): Promise<Summary> {
  let header: BackupHeader | undefined;
  let end: BackupEnd | undefined;
  for await (const item of readBackup(bytes)) {
    if (item.kind === "header") ({ header } = item);
    if (item.kind === "end") ({ end } = item);
  }
  return { ...header!, ...end! };
}

function describe({ store, bytes, completed_at }: Summary): string {
  return `the deployment as of ${completed_at}, ${bytes} bytes of its store (${store})`;
}
