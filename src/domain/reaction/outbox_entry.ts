/**
 * What an event has set off and what is not done yet: an entry of the outbox. It is put in by the
 * write's own transaction and taken out by the one that does it. Decisions, section 11.
 */

import { eventId, type ImpliedBy, type PartyReference } from "../event.ts";
import { limits } from "../limits.ts";
import type { StreamKey } from "../stream_key.ts";
import type { Emission } from "./action.ts";
import { type Root, rootOf, type StoredRoot } from "./root.ts";

/** Where an entry is: known as soon as its event has its place. */
export interface OutboxPlace {
  readonly tenant: number;
  /** Of the event that set it off. */
  readonly stream: StreamKey;
  readonly index: number;
  /** Among all that the event has set off. */
  readonly number: number;
}

/** An event to be written. */
export interface EmitEntry {
  readonly kind: "emit";
  readonly emission: Emission;
  /** Of the trigger, and so of the implied event. */
  readonly actor: PartyReference;
  /** Of the trigger. */
  readonly eventType: string;
  /** Of the event to be written. */
  readonly depth: number;
  /** Of the request that began it all. */
  readonly requestId: string;
  /** On whose budget it is; absent where the trigger is the root and implies nothing else. */
  readonly root?: StoredRoot;
}

/** The event itself is to be shown to the sagas: it may start one, or one may wait for it. */
export interface SagasEntry {
  readonly kind: "sagas";
  readonly eventType: string;
  readonly requestId: string;
  readonly root?: StoredRoot;
}

export type OutboxEntry = EmitEntry | SagasEntry;

/** An entry with its time: until then others leave it to the process that wrote it. */
export interface WaitingEntry {
  readonly entry: OutboxEntry;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly waitMs: number;
  /** How often doing it has failed. */
  readonly tries: number;
}

/** An entry that is in the outbox. */
export interface OutboxWork extends WaitingEntry {
  readonly place: OutboxPlace;
  /** Of the value that is stored. */
  readonly bytes: number;
}

/** What tells the readers of an implied event where it comes from. */
export interface ImpliedStamp {
  readonly actor: PartyReference;
  readonly implied_by: ImpliedBy;
}

export function impliedStamp(
  { stream: key, index }: OutboxPlace,
  { actor, eventType, depth }: EmitEntry,
): ImpliedStamp {
  return { actor, implied_by: { key, event_type: eventType, stream_id: eventId(index), depth } };
}

/** The root of what an entry is about. */
export function entryRoot({ stream, index }: OutboxPlace, { root }: OutboxEntry): Root {
  return rootOf(root, stream, eventId(index));
}

/** Enough for the process that wrote an entry to do it, where that is alive. */
export const OWN_WAIT_MS = 1_000;
/** Clocks of processes differ by less; a clock that was set back by more does not stop the work. */
const CLOCK_DIFFERENCE_MS = 10_000;

export function isEntryDue({ sinceMs, waitMs }: WaitingEntry, nowMs: number): boolean {
  return nowMs >= sinceMs + waitMs || nowMs < sinceMs - CLOCK_DIFFERENCE_MS;
}

/**
 * The pause before the next try of what has failed `tries` times: doubled each time, and shortened
 * by up to a half, by a `share` of 0 to 1, so that what failed together is not tried together.
 */
export function retryPauseMs(tries: number, share: number): number {
  const whole = limits.reactionRetryMsMin * 2 ** (tries - 1);
  return Math.ceil(Math.min(whole, limits.reactionRetryMsMax) * (1 - share / 2));
}
