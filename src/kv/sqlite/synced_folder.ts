/** Files and folders that may be missing, and names as durable as what is in them. */

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

/** Removes a file, or a folder with all that is in it. */
export function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** In bytes; undefined if nothing is there. */
export function sizeIfThere(path: string): number | undefined {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
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
