/**
 * An entry of the outbox: work that an event has set off and that is not done yet.
 *
 * The write's own transaction adds the entry; the transaction that does the work removes it.
 * See docs/reference/reactions.md.
 */

import { eventId, type ImpliedBy, type PartyReference } from "../event.ts";
import { limits } from "../limits.ts";
import type { StreamKey } from "../identifier.ts";
import type { Emission } from "./action.ts";
import { type Root, rootOf, type StoredRoot } from "./root.ts";

/** Where an entry is stored; known as soon as its event has its position. */
export interface OutboxPlace {
  readonly tenant: number;
  /** The stream and the index of the event that set the entry off. */
  readonly stream: StreamKey;
  readonly index: number;
  /** The number of the entry among all that the event has set off. */
  readonly number: number;
}

/** An implied event to write. */
export interface EmitEntry {
  readonly kind: "emit";
  readonly emission: Emission;
  /** The actor of the trigger, who is also the actor of the implied event. */
  readonly actor: PartyReference;
  /** The event type of the trigger. */
  readonly eventType: string;
  /** The depth of the implied event. */
  readonly depth: number;
  /** The id of the request that began the chain. */
  readonly requestId: string;
  /**
   * The root whose budget it draws on; absent if the trigger is the root and implies nothing
   * else.
   */
  readonly root?: StoredRoot;
}

/** Shows the event itself to the sagas: it may start one, or one may be waiting for it. */
export interface SagasEntry {
  readonly kind: "sagas";
  readonly eventType: string;
  readonly requestId: string;
  readonly root?: StoredRoot;
}

export type OutboxEntry = EmitEntry | SagasEntry;

/** An entry with its time. Until it is due, other processes leave it to the one that wrote it. */
export interface WaitingEntry {
  readonly entry: OutboxEntry;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly waitMs: number;
  /** The number of failed attempts. */
  readonly tries: number;
}

/** An entry as it is in the outbox. */
export interface OutboxWork extends WaitingEntry {
  readonly place: OutboxPlace;
  /** Size of the stored value in bytes. */
  readonly bytes: number;
}

/** The part of an implied event that says where it comes from. */
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

/** The root of the work in an entry. */
export function entryRoot({ stream, index }: OutboxPlace, { root }: OutboxEntry): Root {
  return rootOf(root, stream, eventId(index));
}

/** Milliseconds; enough for the process that wrote an entry to do its work, if it is alive. */
export const OWN_WAIT_MS = 1_000;
/**
 * The clocks of two processes differ by less. If a clock is set back by more, work still goes
 * on.
 */
const CLOCK_DIFFERENCE_MS = 10_000;

export function isEntryDue(
  { sinceMs, waitMs }: Pick<WaitingEntry, "sinceMs" | "waitMs">,
  nowMs: number,
): boolean {
  return nowMs >= sinceMs + waitMs || nowMs < sinceMs - CLOCK_DIFFERENCE_MS;
}

/**
 * The pause in milliseconds before the next attempt after `tries` failures. It doubles with
 * each failure and is shortened by up to a half, depending on `share` (0 to 1), so that entries
 * that failed together are not retried together.
 */
export function retryPauseMs(tries: number, share: number): number {
  const whole = limits.reactionRetryMsMin * 2 ** (tries - 1);
  return Math.ceil(Math.min(whole, limits.reactionRetryMsMax) * (1 - share / 2));
}
