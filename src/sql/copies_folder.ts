/**
 * The folder with the copies of projections: its files, one for each environment that is
 * queried, and the free space on its disk.
 *
 * When SQLite sorts large results it writes temporary files, which last as long as their
 * statement. The store may be on the same disk and must not run out of space.
 */

import { statfs } from "node:fs/promises";
import { limits } from "../domain/limits.ts";

const FOLDER_MODE = 0o700;
const FILE = /^([1-9][0-9]*)\.db$/;

/** Creates the folder if it does not exist. Throws if that fails. */
export async function makeCopyFolder(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true, mode: FOLDER_MODE });
}

export function copyPath(folder: string, tenant: number): string {
  return `${folder}/${tenant}.db`;
}

/** The numbers of the environments that have a file; none if there is no folder. */
export async function listCopies(folder: string): Promise<number[]> {
  const numbers: number[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      const number = FILE.exec(name)?.[1];
      if (number !== undefined) numbers.push(Number(number));
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return numbers;
}

/** Milliseconds between two checks of the disk while a statement runs. */
const LOOK_MS = 100;

/** Whether there is more free space than must remain. False if the platform cannot tell. */
export async function hasRoom(
  folder: string,
  freeBytesMin: number = limits.sqlDiskFreeBytesMin,
): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize >= freeBytesMin;
  } catch {
    return false;
  }
}

/** Calls `onShortage` once when space runs out; the returned function ends the watch. */
export function watchRoom(
  folder: string,
  onShortage: () => void,
  freeBytesMin?: number,
): () => void {
  let timer = setTimeout(look, LOOK_MS);
  let isOver = false;

  async function look(): Promise<void> {
    const isShort = !await hasRoom(folder, freeBytesMin);
    if (isOver) return;
    if (isShort) onShortage();
    else timer = setTimeout(look, LOOK_MS);
  }

  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
