/**
 * Rows of projections that show something of an erased stream. They are not removed here: the swap
 * has put a commit into the log, by which they are computed anew from the markers. An erasure waits
 * until that is done.
 */

import { splitStreamKey } from "../domain/stream_key.ts";
import { commitLogShard } from "../domain/work_share.ts";
import type { Transaction } from "../kv/engine.ts";
import { readCommits } from "./commit_log.ts";
import type { CopyRemover, ErasedStream } from "./erased_copies.ts";
import { keys } from "./keys.ts";
import { listProjections, placeOf } from "./projections.ts";
import { listRowsOfSource, readViewRow } from "./view_rows.ts";

type Answer = Awaited<ReturnType<CopyRemover>>;

/** What is looked through in one transaction. */
const COMMITS_MAX = 1_000;
const ROWS_MAX = 200;

/** Waits while a view may show what the stream was. */
export async function awaitViews(tx: Transaction, erased: ErasedStream): Promise<Answer> {
  const { tenant, stream } = erased;
  const { type, id } = splitStreamKey(stream);
  const shard = commitLogShard(`${tenant}/${stream}`);
  const commits = await readCommits(tx.unguarded, tenant, shard, undefined, COMMITS_MAX);
  const isLogged = commits.some((commit) => commit.stream === stream);
  if (isLogged || commits.length === COMMITS_MAX) return "later";
  for (const record of await listProjections(tx.unguarded, tenant)) {
    for (const version of [record.ready, record.building]) {
      if (version === undefined) continue;
      const place = placeOf(tenant, record, version);
      const refresh = keys.viewRefresh(tenant, place.number, place.version, stream);
      if (await tx.unguarded.get(refresh) !== undefined) return "later";
      const shown = await listRowsOfSource(tx.unguarded, place, stream, { limit: ROWS_MAX });
      const own = version.document.for_each === type ? [id] : [];
      for (const name of [...own, ...shown]) {
        const row = await readViewRow(tx.unguarded, place, name);
        const mark = row?.sources.find(([source]) => source === stream)?.[1];
        const generation = own.includes(name) ? row?.generation : mark;
        if (generation !== undefined && generation < erased.generation) return "later";
      }
    }
  }
  return undefined;
}
