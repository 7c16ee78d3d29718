/**
 * Decides which transactions of a commit group may commit: in order, each against the commits since
 * it read and against those before it in the group.
 */

import * as occ from "../transaction/conflict_log.ts";
import type { SqliteTransaction } from "./transaction.ts";

export interface Judged<T> {
  /** In the order of the group; their stamped keys are complete. */
  readonly accepted: readonly T[];
  /** What the accepted transactions write. */
  readonly written: occ.WrittenGroup;
  /** The others, each with a key that was changed since it was read. */
  readonly lost: readonly { readonly one: T; readonly conflict: string }[];
}

/** @param version of the commit that the accepted transactions become. */
export function judgeGroup<T extends { readonly tx: SqliteTransaction }>(
  group: readonly T[],
  log: occ.ConflictLog,
  version: number,
): Judged<T> {
  const written = occ.openWrittenGroup();
  const accepted: T[] = [];
  const lost: { one: T; conflict: string }[] = [];
  for (const one of group) {
    const { guards, readsAt } = one.tx;
    const conflict = readsAt === undefined
      ? undefined
      : occ.findConflict(log, written, guards, readsAt);
    if (conflict !== undefined) lost.push({ one, conflict });
    else {
      one.tx.stampAndNote(version, accepted.length, written);
      accepted.push(one);
    }
  }
  return { accepted, written, lost };
}
