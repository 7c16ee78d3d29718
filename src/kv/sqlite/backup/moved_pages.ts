/**
 * Keeps the pages that are moved to the database file while a backup copies that file. The copy
 * may have a page as it was before, after, or in the middle of that. Together with the pages that
 * are kept here, it is the store at the moment at which everything was moved last.
 *
 * The pages are in a file beside the store, each at its place, so it never becomes larger than the
 * database.
 */

import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { writeAllAt } from "../pages/file_ranges.ts";

export interface MovedPages {
  /** Never throws: what goes wrong is told by `seal`. */
  keep(page: number, bytes: Uint8Array): void;
  /** The kept pages are not all that were moved. */
  fail(reason: string): void;
  /** Closes the file. Returns the numbers of its pages, in order, or why they cannot be used. */
  seal(): readonly number[] | string;
}

/** A backup must not fill the disk that the store needs. */
const FREE_BYTES_MIN = 256 * 1024 * 1024;
/** The free space is looked at once for so many pages. */
const LOOK_PAGES = 4096;

/** The file of the pages that are moved while a backup of this store runs. */
export function movedPagesPath(storePath: string): string {
  return `${storePath}-backup`;
}

/** Also for a file that a killed process has left. */
export function removeMovedPages(storePath: string): void {
  try {
    Deno.removeSync(movedPagesPath(storePath));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

export function openMovedPages(path: string): MovedPages {
  const file = Deno.openSync(path, { create: true, truncate: true, write: true, mode: 0o600 });
  const pages = new Set<number>();
  let failure: string | undefined;
  let untilLook = 0;

  function write(page: number, bytes: Uint8Array): void {
    if (untilLook-- === 0) {
      untilLook = LOOK_PAGES;
      const { bavail, bsize } = statfsSync(dirname(path));
      if (bavail * bsize < FREE_BYTES_MIN) {
        throw new Error(`less than ${FREE_BYTES_MIN} bytes are free on the disk of the store`);
      }
    }
    writeAllAt(file, (page - 1) * bytes.length, bytes);
    pages.add(page);
  }

  return {
    keep(page, bytes) {
      if (failure !== undefined) return;
      try {
        write(page, bytes);
      } catch (error) {
        failure = error instanceof Error ? error.message : String(error);
      }
    },
    fail: (reason) => void (failure ??= reason),
    seal() {
      file.close();
      return failure ?? [...pages].sort((a, b) => a - b);
    },
  };
}
