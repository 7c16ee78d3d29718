/** Makes the names of files and folders as durable as what is in them. */

import { dirname, resolve } from "node:path";

/** Makes what was created, renamed or removed in a folder last through a power cut. */
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
 * Creates a folder for its owner alone, with its missing parents. Syncs the name of each new one
 * if this process may read the folder that has it.
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
