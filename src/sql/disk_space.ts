/**
 * Watches the free space on the disk of the copies.
 *
 * When SQLite sorts large results it writes temporary files, which last as long as their
 * statement. The store may be on the same disk and must not run out of space.
 */

import { statfs } from "node:fs/promises";
import { limits } from "../domain/limits.ts";

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
