/**
 * Writes the file of an export. Only its owner may read it, because it holds all data of an
 * environment. It gets its name only once it is complete and synced.
 */

import { readChunks, syncNamesIn, writeAll } from "../../files.ts";

const OWNER_ONLY = 0o600;
/** In place of a file name: standard output, or standard input for an import. */
export const STANDARD_STREAM = "-";

export interface ExportFile {
  write(bytes: Uint8Array): Promise<void>;
  /** Syncs the complete file and gives it its name. */
  publish(): Promise<void>;
  /** Removes the incomplete file. */
  discard(): Promise<void>;
}

/** @throws {Error} if a file of that name exists: it may be the only copy of something. */
export async function createExportFile(path: string): Promise<ExportFile> {
  if (path === STANDARD_STREAM) return standardOutput();
  await refuseExisting(path);
  const part = `${path}.part`;
  const options = { write: true, create: true, truncate: true, mode: OWNER_ONLY };
  const file = await Deno.open(part, options);
  // `mode` has no effect on a file that already existed.
  await Deno.chmod(part, OWNER_ONLY);
  let isOpen = true;
  return {
    write: (bytes) => writeAll(file, bytes),
    async publish() {
      await file.sync();
      file.close();
      isOpen = false;
      // Hours may have passed since the name was checked.
      await refuseExisting(path);
      await Deno.rename(part, path);
      await syncNamesIn(folderOf(path));
    },
    async discard() {
      if (isOpen) file.close();
      await Deno.remove(part);
    },
  };
}

/** The bytes of a file, or of standard input. */
export function readInput(path: string): AsyncIterable<Uint8Array> {
  return path === STANDARD_STREAM ? Deno.stdin.readable : readChunks(path);
}

function standardOutput(): ExportFile {
  return {
    write: (bytes) => writeAll(Deno.stdout, bytes),
    publish: () => Promise.resolve(),
    discard: () => Promise.resolve(),
  };
}

async function refuseExisting(path: string): Promise<void> {
  const exists = await Deno.lstat(path).then(() => true, (error) => {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  });
  if (exists) throw new Error(`${path} exists already; choose another name or remove it`);
}

function folderOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? "." : path.slice(0, slash + 1);
}
