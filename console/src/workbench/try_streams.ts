/** Folds several streams under the deployed and under an edited handler, one after the other. */

import type { Client, Refusal } from "@daybook/client";
import { runInSlices } from "../shell/slices.ts";
import { changesBetween } from "../shell/state_changes.ts";
import type { Handlers } from "../shell/stream_fold.ts";
import { compareFolds } from "./compare_folds.ts";
import { readRecentStreams, type RecentStreams } from "./recent_streams.ts";
import { readStream } from "./stream_sample.ts";

export const STREAMS_TRIED = 20;
/** Of each stream, so many of its first events. */
export const EVENTS_OF_EACH = 2_000;

export interface TriedRow {
  readonly id: string;
  /** Events of the whole stream, and how many of them were folded. */
  readonly length: number;
  readonly folded: number;
  /** The first length at which the states differ; undefined if they never do. */
  readonly firstDifference: number | undefined;
  /** Fields that differ at the end. */
  readonly fields: number;
}

export interface Trial {
  readonly type: string;
  readonly event: string;
  readonly deployed: Handlers;
  readonly edited: Handlers;
}

/** Tells which streams are tried, then each of them once it is done. Ends with `signal`. */
export async function tryStreams(
  db: Client,
  trial: Trial,
  tell: (news: RecentStreams | TriedRow | Refusal) => void,
  signal: AbortSignal,
): Promise<void> {
  const { type, event } = trial;
  const recent = await readRecentStreams(db, { type, event, count: STREAMS_TRIED }, signal);
  if (signal.aborted) return;
  tell(recent);
  if (!recent.ok) return;
  for (const id of recent.ids) {
    const row = await tryStream(trial, id, signal);
    if (signal.aborted || row === undefined) return;
    tell(row);
    if ("error_type" in row) return;
  }
}

async function tryStream(
  { type, event, deployed, edited }: Trial,
  id: string,
  signal: AbortSignal,
): Promise<TriedRow | Refusal | undefined> {
  const sample = await readStream(type, id, signal, EVENTS_OF_EACH);
  if (!sample.ok) return sample;
  const { events, length } = sample;
  const compared = await runInSlices(compareFolds(deployed, edited, events, event), signal);
  if (compared === undefined) return undefined;
  const folded = events.length;
  const { firstDifference } = compared;
  const fields = firstDifference === undefined
    ? 0
    : changesBetween(compared.deployed.stateAt(folded), compared.edited.stateAt(folded)).length;
  return { id, length, folded, firstDifference, fields };
}
