/** `import`: reads a file made by `export` into an empty environment of this store. */

import { prepareFeed } from "../../features/feed/fill_feed.ts";
import {
  importEnvironment,
  type TransferSummary,
} from "../../features/transfer/import_environment.ts";
import { systemHost } from "../../host.ts";
import { environmentOrExit } from "./export_environment.ts";
import { STANDARD_STREAM } from "./export_file.ts";
import { complain } from "../terminal/print.ts";
import { EXIT_FAILED, exitWith, reasonOf, settingsOrExit } from "../terminal/settings.ts";
import { describeCounts, openStoreOrExit, progressReport, seconds } from "./transfer_settings.ts";

export interface ImportFileOptions {
  readonly instance?: string;
  readonly environment?: string;
}

const SIGNING_KEYS = {
  file: "the signing keys of the file",
  store: "the signing keys it had here",
  new: "a new signing key (the file has none: export with --with-signing-keys to take them along)",
} as const;

export async function importFile(path: string, options: ImportFileOptions): Promise<void> {
  const config = settingsOrExit();
  const environment = options.environment && environmentOrExit(options.environment);
  const host = systemHost();
  const file = await openOrExit(path);
  const engine = await openStoreOrExit(config, host, "import");
  const beganMs = host.nowMs();
  try {
    await prepareFeed(engine);
    const outcome = await importEnvironment(engine, host, file, {
      slug: options.instance,
      environment: environment || undefined,
      onProgress: progressReport(host, "imported"),
    });
    await engine.close();
    if (!outcome.ok) {
      const { line, rule, message } = outcome.fault;
      exitWith(EXIT_FAILED, `Nothing was imported: line ${line}: [${rule}] ${message}`);
    }
    complain(describe(outcome.summary, seconds(host.nowMs() - beganMs)));
  } catch (error) {
    await engine.close().catch(() => {});
    const again = "Run it again: it begins anew";
    exitWith(EXIT_FAILED, `Nothing was imported: ${reasonOf(error)}. ${again}`);
  }
  Deno.exit(0);
}

async function openOrExit(path: string): Promise<ReadableStream<Uint8Array>> {
  if (path === STANDARD_STREAM) return Deno.stdin.readable;
  try {
    return (await Deno.open(path)).readable;
  } catch (error) {
    exitWith(EXIT_FAILED, `The file cannot be read: ${reasonOf(error)}`);
  }
}

function describe(summary: TransferSummary, time: string): string {
  const { counts, slug, environment, instanceId } = summary;
  const made = summary.isNewInstance ? "made now" : "as it was";
  const lines = [
    `Imported ${environment} of '${slug}': ${describeCounts(counts)} in ${time}`,
    `  instance        ${instanceId}, ${made}, with ${SIGNING_KEYS[summary.signingKeys]}`,
    `  specs           ${counts.specs}`,
    `  API keys        ${summary.apiKeys}`,
    `  pending work    ${counts.work}`,
    `  keyed writes    ${counts.ledger_entries - summary.ledgerLeftOut}`,
  ];
  if (summary.apiKeysLeftOut > 0) {
    lines.push(
      `${summary.apiKeysLeftOut} API keys of the file open another environment and were left out`,
    );
  }
  return lines.join("\n");
}
