/** Opens the store for `export`, `import` and `fsck`, and reports the progress of a transfer. */

import type { Config } from "../../config.ts";
import type { FileCounts } from "../../domain/transfer/record.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { openEngine } from "../../kv/open_engine.ts";
import { complain } from "../terminal/print.ts";
import { EXIT_FAILED, exitWith, reasonOf } from "../terminal/settings.ts";

const PROGRESS_EVERY_MS = 5_000;
const MS_PER_SECOND = 1_000;

/**
 * Opens the store, or prints why it cannot and ends the process. If a server holds the embedded
 * store, the message says what to do.
 */
export async function openStoreOrExit(config: Config, host: Host, what: string): Promise<Engine> {
  try {
    return await openEngine(config, host);
  } catch (error) {
    exitForOpening(config, what, error);
  }
}

export function exitForOpening({ dataDir }: Config, what: string, error: unknown): never {
  const isInUse = error instanceof Error && error.name === "StoreInUse";
  const message = isInUse
    ? `The store in ${dataDir} is in use. Stop the server that runs on it, ${what}, and ` +
      "start it again: one process at a time owns the embedded store"
    : `The store cannot be opened: ${reasonOf(error)}`;
  exitWith(EXIT_FAILED, message);
}

/** Prints the progress on standard error every few seconds. */
export function progressReport(host: Host, verb: string): (counts: FileCounts) => void {
  const beganMs = host.nowMs();
  let saidMs = beganMs;
  return (counts) => {
    const nowMs = host.nowMs();
    if (nowMs - saidMs < PROGRESS_EVERY_MS) return;
    saidMs = nowMs;
    complain(`${verb} ${describeCounts(counts)} in ${seconds(nowMs - beganMs)}`);
  };
}

export function describeCounts({ streams, events, event_bytes }: FileCounts): string {
  return `${streams} streams, ${events} events, ${event_bytes} bytes of events`;
}

export function seconds(milliseconds: number): string {
  return `${(milliseconds / MS_PER_SECOND).toFixed(1)} s`;
}
