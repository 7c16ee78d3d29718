/** Sends what the form means, or has the server check it, and says what came of it. */

import type { Client, Refusal, Written } from "@daybook/client";
import { type Entry, faultsOf, isUntouched, NEVER_LENGTH, readEntry } from "./entry.ts";
import type { Fault, Part } from "./form_draft.ts";

export interface Stream {
  readonly type: string;
  readonly id: string;
}

/** What came of the last press of a button. */
export interface Outcome {
  readonly faults: readonly Fault[];
  readonly refusal?: Refusal;
  /** The event may have been written, though no answer says so. */
  readonly isDoubtful?: boolean;
  /** Others have written since the form was opened, so that the length is another one. */
  readonly conflict?: { readonly current: number; readonly expected: number };
  /** The server would take the event. */
  readonly isFine?: boolean;
  /** The number of the event that was written. */
  readonly written?: number;
  /** The form has changed since: only what is still true is left. */
  readonly isOld?: boolean;
}

/**
 * What came of the entry that was sent, as far as it holds for the one that the form has now: that
 * an event was written or may have been, and the faults of fields that nobody has touched since.
 */
export function stillTrue(came: Outcome, sent: Entry, now: Entry): Outcome {
  if (now === sent) return came;
  const { written, conflict, isDoubtful, refusal } = came;
  return {
    written,
    conflict: now.expected === sent.expected ? conflict : undefined,
    isDoubtful,
    refusal: isDoubtful ? refusal : undefined,
    faults: came.faults.filter(({ path }) => isUntouched(path, sent, now)),
    isOld: true,
  };
}

export async function sendEntry(
  writer: Client,
  { type, id }: Stream,
  entry: Entry,
  part: Part,
): Promise<Outcome> {
  const wanted = readEntry(entry, part);
  if (!("options" in wanted)) return { faults: wanted };
  const answer = await writer[type]!(id).write(entry.event, wanted.data, wanted.options);
  if (answer.ok) return { faults: [], written: Number((answer as Written).stream_id) };
  const refusal = answer as Refusal;
  const isDoubtful = refusal.status === 0 || refusal.status >= 500;
  return { ...outcomeOf(refusal), isDoubtful };
}

/**
 * The API has no call that only checks. But the server checks the whole event before it compares
 * lengths, so an event for a length that no stream has is checked and never written.
 */
export async function checkEntry(
  writer: Client,
  { type, id }: Stream,
  entry: Entry,
  part: Part,
): Promise<Outcome> {
  const wanted = readEntry(entry, part);
  if (!("options" in wanted)) return { faults: wanted };
  const { actor, target, previous_length: expected } = wanted.options;
  const options = { actor, target, previous_length: NEVER_LENGTH };
  const answer = await writer[type]!(id).write(entry.event, wanted.data, options) as Refusal;
  if (answer.error_type !== "occ_conflict") return outcomeOf(answer);
  const current = answer.current_length;
  if (expected === undefined || expected === current) return { faults: [], isFine: true };
  return { faults: [], conflict: { current, expected } };
}

function outcomeOf(refusal: Refusal): Outcome {
  if (refusal.error_type !== "occ_conflict") return { faults: faultsOf(refusal), refusal };
  const { current_length: current, expected_length: expected } = refusal;
  return { faults: [], conflict: { current, expected } };
}
