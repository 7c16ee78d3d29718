/**
 * `restore`: makes a deployment of a backup, or of any moment of an archive, in an empty data
 * folder. It then waits with everything that reaches out into the world, until it is resumed.
 */

import { applyCommits, planRestore, type RestorePlan } from "../../archive/read_archive.ts";
import type { Config } from "../../config.ts";
import type { BackupEnd } from "../../domain/backup/backup_file.ts";
import { type BackupItem, readBackup } from "../../domain/backup/read_backup.ts";
import { holdRestored } from "../../features/backup/backup_service.ts";
import type { PrivateFile } from "../../features/backup/write_backup.ts";
import { type LaterErasure, repeatErasures } from "../../features/erasure/tombstones.ts";
import { type Host, systemHost } from "../../host.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { restoreStore } from "../../kv/open_engine.ts";
import { writePrivateFiles } from "../../private_files.ts";
import { tombstoneIn } from "../../store/tombstones.ts";
import { readInput } from "../transfer/export_file.ts";
import { openOutput, type Output, type Progress } from "../terminal/output.ts";
import { EXIT_MISUSED, reasonOf, settingsOrExit } from "../terminal/settings.ts";

export interface RestoreOptions {
  readonly archive?: string;
  /** ISO 8601. */
  readonly at?: string;
  readonly resume?: boolean;
  readonly json?: boolean;
}

const BYTES_PER_MB = 1_000_000;

export async function restore(file: string | undefined, options: RestoreOptions): Promise<void> {
  const output = openOutput(options);
  const source = sourceOf(file, options, output);
  const config = settingsOrExit();
  const progress = output.progress("Restoring");
  try {
    const restored = await restoreFrom(source, {
      host: systemHost(),
      config,
      progress,
      ...options,
    });
    progress.end();
    const paused = options.resume !== true;
    output.result({ ...restored, paused }, () => describe(restored, paused));
  } catch (error) {
    progress.end();
    output.fail({ error: `Nothing was restored: ${reasonOf(error)}`, error_type: "failed" });
  }
  Deno.exit(0);
}

/** A backup file, or a moment of an archive. */
type Source =
  | { readonly file: string }
  | { readonly archive: string; readonly atMs: number | undefined };

export function sourceOf(
  file: string | undefined,
  options: Pick<RestoreOptions, "archive" | "at">,
  output: Output,
): Source {
  const { archive, at } = options;
  const atMs = at === undefined ? undefined : Date.parse(at);
  if (archive !== undefined && file === undefined && !Number.isNaN(atMs)) return { archive, atMs };
  if (archive === undefined && at === undefined && file !== undefined) return { file };
  return output.fail({
    error: Number.isNaN(atMs)
      ? `--at: '${at}' is no time such as 2026-11-26T12:00:00Z.`
      : "A restore takes a backup file, or --archive with the folder of an archive.",
    error_type: "misused",
    hint: "daybook restore <file>, or daybook restore --archive <folder> [--at <time>]",
  }, EXIT_MISUSED);
}

interface Restored {
  /** The moment that the deployment shows. ISO 8601 UTC. */
  readonly moment: string;
  /** Erasures from after that moment, which were requested again. */
  readonly erasures: number;
  /** The archive lacks commits from after that moment, and with them perhaps erasures. */
  readonly gap?: true;
}

const PAUSED =
  "It will start with reactions, timers, deliveries and anchors paused, so that nothing is done\n" +
  "twice. Start it, look at it, and let it go on with: daybook resume";
const RESUMED = "It will go on with reactions, timers, deliveries and anchors as soon as it starts";

const GAP =
  "The archive lacks some of what came later. If streams were erased then, request that again:\n" +
  "their receipts name them\n";

function describe({ moment, erasures, gap }: Restored, paused: boolean): string {
  const again = erasures === 0
    ? ""
    : `Streams that were erased later, and will be erased again: ${erasures}\n`;
  return `Restored: the deployment as of ${moment}\n${again}${gap ? GAP : ""}${
    paused ? PAUSED : RESUMED
  }`;
}

interface Wish extends Pick<RestoreOptions, "resume"> {
  readonly host: Host;
  readonly config: Config;
  readonly progress: Progress;
}

export async function restoreFrom(source: Source, wish: Wish): Promise<Restored> {
  if ("file" in source) return await restoreBackup(readInput(source.file), wish);
  const plan = await planRestore(source.archive, source.atMs);
  return await restoreBackup(readInput(plan.full.path), wish, plan);
}

async function restoreBackup(
  bytes: AsyncIterable<Uint8Array>,
  { host, config, progress, resume }: Wish,
  plan?: RestorePlan,
): Promise<Restored> {
  const seen: { end?: BackupEnd; files: PrivateFile[] } = { files: [] };
  let restored: Restored | undefined;

  async function* pieces(): AsyncGenerator<Bytes> {
    let taken = 0;
    for await (const item of readBackup(bytes)) {
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
    if (item.kind !== "header" || item.header.store === config.store) return;
    throw new Error(
      `The backup is of a store of the kind ${item.header.store}, and DAYBOOK_STORE is ` +
        config.store,
    );
  }

  await restoreStore(config, pieces(), {
    host,
    nowMs: host.nowMs(),
    // The store gets its name after this, so it is never there without the rest.
    async prepare(engine) {
      restored = plan === undefined
        ? { moment: seen.end!.completed_at, erasures: 0 }
        : await goOn(engine, plan, host, progress);
      const restored_at = new Date(host.nowMs()).toISOString();
      if (!resume) await holdRestored(engine, { restored_at, moment: restored.moment });
      await writePrivateFiles(config.dataDir, seen.files);
    },
  });
  return restored!;
}

/** Brings a store from its full backup to the moment of a plan. */
async function goOn(
  engine: Engine,
  plan: RestorePlan,
  host: Host,
  progress: Progress,
): Promise<Restored> {
  await applyCommits(engine, plan.commits(), (bytes) => {
    progress.say(`Restoring: ${Math.floor(bytes / BYTES_PER_MB)} MB of commits`);
  });
  const later = await laterErasures(plan);
  const erasures = await repeatErasures(engine, host.nowMs(), later.found);
  const moment = new Date(plan.timeMs).toISOString();
  return { moment, erasures, ...(!later.isWhole && { gap: true }) };
}

/** The erasures that the archive knows to be later, each as it was last. */
async function laterErasures(
  plan: RestorePlan,
): Promise<{ readonly found: Iterable<LaterErasure>; readonly isWhole: boolean }> {
  const found = new Map<string, LaterErasure>();
  const later = plan.later();
  for (;;) {
    const { done, value } = await later.next();
    if (done) return { found: found.values(), isWhole: value };
    for (const change of value.changes) {
      if (!("pairs" in change)) continue;
      for (let at = 0; at < change.pairs.length; at += 2) {
        const erasure = tombstoneIn(change.pairs[at]!, change.pairs[at + 1]!);
        if (erasure !== undefined) {
          found.set(`${erasure.tenant} ${erasure.tombstone.id}`, erasure);
        }
      }
    }
  }
}
