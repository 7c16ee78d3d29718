/**
 * Notes the checksums of pages that were moved from the WAL to the database file. Whoever moves
 * pages must do it in this order: keep others from restarting the WAL, begin, let SQLite move,
 * note, sync, end.
 *
 * It never stops a checkpoint. If a checksum cannot be kept, the file of checksums is removed,
 * and what it held is unknown from then on.
 */

import { crc32 } from "node:zlib";
import {
  openPageSums,
  type PageSums,
  pageSumsPath,
  removePageSums,
  type StoreMoment,
} from "./page_sums.ts";
import { lastFrames, readWalHead } from "./wal_frames.ts";

export interface PageNotes {
  /** Called once for each pass, before SQLite moves anything. Never throws. */
  begin(): PageNote;
}

export interface PageNote {
  /**
   * @param moved frames of the WAL that are in the database file now.
   * @param moment of the store, if those are all frames.
   */
  note(moved: number, moment: StoreMoment | undefined): void;
  /** Resolves when the notes are on disk, or all checksums are given up. Never rejects. */
  sync(): Promise<void>;
  /** Why the checksums were given up. */
  readonly failure: string | undefined;
  end(): void;
}

/** The first `frames` frames of the WAL with these salts. */
interface Noted {
  readonly salts: bigint;
  readonly frames: number;
}

/** Is told of each page that was moved. Must not throw. */
export type MovedPage = (page: number) => void;

/** @param wal the `-wal` file of the store, open for reading. */
export function openPageNotes(
  storePath: string,
  wal: Deno.FsFile,
  onMoved: MovedPage = () => {},
): PageNotes {
  /** What is on disk. A new process knows of nothing, and notes the frames it finds again. */
  let noted: Noted = { salts: 0n, frames: 0 };

  function begin(): PageNote {
    let failure: string | undefined;
    let sums: PageSums | undefined;
    let written: Noted | undefined;
    const attempt = <T>(step: () => T): T | undefined => {
      try {
        return step();
      } catch (error) {
        giveUp(error);
      }
    };
    const giveUp = (error: unknown) => {
      failure ??= giveUpSums(storePath, error);
      sums?.close();
      sums = undefined;
    };
    const before = attempt(() => readWalHead(wal));
    if (before !== undefined) sums = attempt(() => openPageSums(storePath, before.pageBytes));

    function noteMoved(into: PageSums, moved: number, moment?: StoreMoment): void {
      const { salts } = before!;
      // The WAL was restarted all the same, which SQLite does only if all was moved before this
      // pass.
      if (readWalHead(wal)?.salts !== salts) return;
      const from = noted.salts === salts ? noted.frames : 0;
      if (moved <= from) return;
      const found = new Map<number, number>();
      for (const { page, bytes } of lastFrames(wal, before!, from, moved)) {
        found.set(page, crc32(bytes));
        onMoved(page);
      }
      if (readWalHead(wal)?.salts !== salts) throw new Error("SQLite's log was begun anew");
      into.write(found, moment);
      written = { salts, frames: moved };
    }

    return {
      get failure() {
        return failure;
      },
      note(moved, moment) {
        const into = sums;
        if (into !== undefined) attempt(() => noteMoved(into, moved, moment));
      },
      async sync() {
        if (written === undefined || sums === undefined) return;
        try {
          await sums.sync();
          noted = written;
        } catch (error) {
          giveUp(error);
        }
      },
      end() {
        sums?.close();
        sums = undefined;
      },
    };
  }

  return { begin };
}

/** Removes the file of checksums. Returns what went wrong, for the log. */
export function giveUpSums(storePath: string, cause: unknown): string {
  const path = pageSumsPath(storePath);
  const reason = `The sums of pages in ${path} could not be kept: ${cause}. `;
  try {
    removePageSums(storePath);
    return `${reason}They begin anew, and fsck says of how many pages nothing is known`;
  } catch (error) {
    return `${reason}Nor could they be removed: ${error}. Remove that file before the next fsck`;
  }
}
