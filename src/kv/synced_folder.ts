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

/** Makes a folder for its owner alone, with those above it, and syncs the name of each new one. */
export function makeFolder(path: string): void {
  const full = resolve(path);
  const missing: string[] = [];
  for (let at = full; !isThere(at); at = dirname(at)) missing.push(at);
  Deno.mkdirSync(full, { recursive: true, mode: 0o700 });
  for (const one of missing.reverse()) syncFolder(dirname(one));
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
