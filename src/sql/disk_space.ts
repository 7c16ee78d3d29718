/**
 * Room on the disk of the copies. Sorting what is large, SQLite writes temporary files, which end
 * with their statement; the store may be on the same disk, and is not to run into its end.
 */

import { statfs } from "node:fs/promises";
import { limits } from "../domain/limits.ts";

/** How often a running statement's use of the disk is looked at. */
const LOOK_MS = 100;

/** Whether there is more room than must stay. False where the platform does not tell. */
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

/** Calls `onShortage` once when there is no room any more; ends with the function it gives. */
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
