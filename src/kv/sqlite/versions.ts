/**
 * The versions that transactions of the SQLite engine read at. The newest is read on the
 * writer's own connection. Before a commit moves that on, a view still in use is pinned to a
 * spare connection, where it keeps its version.
 */

import { kvLimits } from "../engine.ts";
import type { SqliteFile, SqliteReader } from "./file.ts";
import type { StoredPairs } from "./pairs.ts";

/** One version, shared by its readers. */
export interface View {
  readonly version: number;
  /** Where to read it; undefined once it was given up. */
  pairs: StoredPairs | undefined;
  /** Transactions that may still read at it. */
  uses: number;
  /** When the last of them began, in milliseconds of the engine's clock. */
  usedMs: number;
}

export interface SqliteViews {
  /** Joins the newest version, for a transaction that began at `nowMs`. Pair it with `leave`. */
  join(nowMs: number): View;
  leave(view: View): void;
  /** Pins the newest view if it is in use. Called before every commit. */
  beforeCommit(nowMs: number): void;
  /** Called after a commit that took place, or that failed (with the version from before). */
  afterCommit(version: number): void;
  /** Gives up all versions but the newest, even those still being read. */
  giveUpPinned(): void;
  /** Version of the oldest view in use, or `newest` when there is none. */
  oldestVersion(newest: number): number;
  close(): void;
}

/** Old versions held at once. The oldest is given up for one more. */
const pinnedViewsMax = 32;
const ageMaxMs = kvLimits.transactionSecondsMax * 1000;

export function openViews(file: SqliteFile): SqliteViews {
  let newest: View = { version: file.readVersion(), pairs: file, uses: 0, usedMs: 0 };
  /** Oldest first. */
  const pinned = new Map<View, SqliteReader>();
  const spare: SqliteReader[] = [];

  function giveUp(view: View): void {
    const reader = pinned.get(view);
    pinned.delete(view);
    view.pairs = undefined;
    if (reader === undefined) return;
    reader.unpin();
    spare.push(reader);
  }

  function pin(view: View): void {
    // Other connections see only what has ended.
    file.flush();
    const reader = spare.pop() ?? file.openReader();
    reader.pin();
    view.pairs = reader;
    pinned.set(view, reader);
  }

  return {
    join(nowMs) {
      newest.uses++;
      newest.usedMs = nowMs;
      return newest;
    },
    leave(view) {
      view.uses--;
      if (view.uses === 0 && view !== newest) giveUp(view);
    },
    beforeCommit(nowMs) {
      for (const view of pinned.keys()) if (view.usedMs < nowMs - ageMaxMs) giveUp(view);
      if (newest.uses === 0) return;
      if (pinned.size >= pinnedViewsMax) giveUp(pinned.keys().next().value!);
      pin(newest);
    },
    afterCommit(version) {
      if (version === newest.version) {
        giveUp(newest);
        newest.pairs = file;
      } else {
        newest = { version, pairs: file, uses: 0, usedMs: 0 };
      }
    },
    giveUpPinned() {
      for (const view of pinned.keys()) giveUp(view);
    },
    oldestVersion(version) {
      for (const view of pinned.keys()) return view.version;
      return version;
    },
    close() {
      for (const view of pinned.keys()) giveUp(view);
      for (const reader of spare) reader.close();
      newest.pairs = undefined;
    },
  };
}
