/** Names of files and folders that are as durable as what is in them. */

import { dirname, resolve } from "node:path";

/** What was made, renamed or removed in a folder stays so after a power cut. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  const folder = Deno.openSync(path);
  try {
    folder.syncSync();
  } finally {
    folder.close();
  }
}

/**
 * Makes a folder for its owner alone, with those above it, and syncs the name of each new one where
 * this process may read the folder that has it.
 */
export function makeFolder(path: string): void {
  const full = resolve(path);
  try {
    Deno.mkdirSync(full, { mode: 0o700 });
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    makeFolder(dirname(full));
    Deno.mkdirSync(full, { mode: 0o700 });
  }
  try {
    syncFolder(dirname(full));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotCapable)) throw error;
  }
}
