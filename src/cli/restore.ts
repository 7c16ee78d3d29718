/**
 * `restore`: makes a deployment of a backup, in an empty data folder. It then waits with everything
 * that reaches out into the world, until it is resumed.
 */

import type { BackupEnd, BackupHeader } from "../domain/backup/backup_file.ts";
import { type BackupItem, readBackup } from "../domain/backup/read_backup.ts";
import { holdRestored } from "../features/backup/backup_service.ts";
import { type Host, systemHost } from "../host.ts";
import type { Bytes } from "../kv/engine.ts";
import { restoreStore } from "../kv/open_engine.ts";
import { writePrivateFiles } from "../private_files.ts";
import type { Config } from "../config.ts";
import { openOutput, type Progress } from "./output.ts";
import { reasonOf, settingsOrExit } from "./settings.ts";

export interface RestoreOptions {
  readonly resume?: boolean;
  readonly json?: boolean;
}

const BYTES_PER_MB = 1_000_000;

export async function restore(path: string, options: RestoreOptions): Promise<void> {
  const output = openOutput(options);
  const config = settingsOrExit();
  const host = systemHost();
  const progress = output.progress("Restoring");
  try {
    const { completed_at, version } = await restoreFile(host, config, path, {
      ...options,
      progress,
    });
    progress.end();
    const paused = options.resume !== true;
    output.result(
      { moment: completed_at, version, paused },
      () => `Restored: the deployment as of ${completed_at}\n${paused ? PAUSED : RESUMED}`,
    );
  } catch (error) {
    progress.end();
    output.fail({ error: `Nothing was restored: ${reasonOf(error)}`, error_type: "failed" });
  }
  Deno.exit(0);
}

const PAUSED =
  "It will start with reactions, timers, deliveries and anchors paused, so that nothing is done\n" +
  "twice. Start it, look at it, and let it go on with: daybook resume";
const RESUMED = "It will go on with reactions, timers, deliveries and anchors as soon as it starts";

interface Wish extends RestoreOptions {
  readonly progress: Progress;
}

async function restoreFile(
  host: Host,
  config: Config,
  path: string,
  { resume, progress }: Wish,
): Promise<BackupEnd> {
  const file = path === "-" ? Deno.stdin.readable : (await Deno.open(path)).readable;
  const items = readBackup(file);
  const seen: { header?: BackupHeader; end?: BackupEnd; files: PrivateFile[] } = { files: [] };
  let taken = 0;

  async function* pieces(): AsyncGenerator<Bytes> {
    for await (const item of items) {
      note(item);
      if (item.kind !== "store") continue;
      taken += item.piece.length;
      progress.say(`Restoring: ${Math.floor(taken / BYTES_PER_MB)} MB`);
      yield item.piece;
    }
  }

  function note(item: BackupItem): void {
    if (item.kind === "file") seen.files.push(item);
    if (item.kind === "end") seen.end = item.end;
    if (item.kind !== "header") return;
    const { store } = item.header;
    if (store === config.store) return;
    throw new Error(
      `The backup is of a store of the kind ${store}, and DAYBOOK_STORE is ${config.store}`,
    );
  }

  await restoreStore(config, pieces(), {
    nowMs: host.nowMs(),
    // The store gets its name after this, so it is never there without the rest.
    async prepare(engine) {
      const restored_at = new Date(host.nowMs()).toISOString();
      if (!resume) await holdRestored(engine, { restored_at, moment: seen.end!.completed_at });
      await writePrivateFiles(config.dataDir, seen.files);
    },
  });
  return seen.end!;
}

interface PrivateFile {
  readonly name: string;
  readonly content: Bytes;
}
