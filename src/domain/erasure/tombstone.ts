/**
 * An erasure request and its states, from the request to the receipt. The API calls it a
 * tombstone.
 *
 * See docs/reference/erasure.md.
 *
 *     pending --(due)--> running --> completed
 *        +----(cancelled by an operator)----> cancelled
 */

import type { ListPage } from "../list_page.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import type { StreamKey } from "../identifier.ts";
import type { Environment } from "../tenant.ts";
import type { ErasureReceipt } from "./receipt.ts";

export const TOMBSTONE_STATES = ["pending", "running", "completed", "cancelled"] as const;
export type TombstoneState = typeof TOMBSTONE_STATES[number];

/** What an operator asks for. */
export interface TombstoneWish {
  /** Key of the stream. */
  readonly key: string;
  readonly reason: string;
  readonly legal_basis?: string;
  /** Hours from the request to the execution. */
  readonly grace_hours: number;
}

/** As `GET /_admin/tombstones` shows it. Times are ISO 8601 UTC. */
export interface TombstoneView extends TombstoneWish {
  readonly id: string;
  readonly key: StreamKey;
  readonly state: TombstoneState;
  readonly requested_at: string;
  /** The operator, as named in their token. */
  readonly requested_by: string;
  /** The stream is not erased before this time. */
  readonly execute_at: string;
  readonly cancelled_at?: string;
  /** When readers began to see the markers. */
  readonly executed_at?: string;
  /** When the last copy of the data was removed. */
  readonly completed_at?: string;
  readonly receipt?: ErasureReceipt;
}

/** The result of rewriting a stream, once the markers have replaced its events. */
export interface RewriteResult {
  /** Generation of the rewritten stream. */
  readonly generation: number;
  /** Events that the stream had. */
  readonly event_count: number;
  /** Events that became markers; the others already were markers. */
  readonly erased_count: number;
  /** Chain hash of the last event, before and after the rewrite. */
  readonly previous_tip: string;
  readonly tip: string;
}

/** Progress of building the markers, which happens beside the events. */
export interface RewriteProgress {
  readonly generation: number;
  /** Events that have their marker. */
  readonly length: number;
  readonly erased: number;
  /** Bytes of the markers in UTF-8. */
  readonly bytes: number;
  readonly tip?: string;
  readonly peaks: readonly string[];
}

/** Progress of removing copies: which kind of copy, and after which key to go on. */
export interface RemovalProgress {
  readonly copy?: string;
  readonly after?: string;
}

/** As stored. */
export interface Tombstone extends Omit<TombstoneView, "receipt"> {
  readonly executeAtMs: number;
  /**
   * Set on an erasure that was transferred from another store. A receipt that came with it is
   * signed by the instance it came from.
   */
  readonly imported?: true;
  readonly rewrite?: RewriteProgress;
  readonly result?: RewriteResult;
  readonly removal?: RemovalProgress;
  readonly receipt?: ErasureReceipt;
}

export type TombstonePage = ListPage<TombstoneView>;

export const TOMBSTONE_ID = /^tmb_[0-9a-f]{28}$/;
export const TOMBSTONE_ID_RANDOM_BYTES = 8;
const TIME_DIGITS = 12;
const REQUESTER_CHARACTERS_MAX = 256;
const MS_PER_HOUR = 3_600_000;
/** Ids sort by the time of the request. */
export function tombstoneId(nowMs: number, random: Uint8Array): string {
  return `tmb_${nowMs.toString(16).padStart(TIME_DIGITS, "0")}${random.toHex()}`;
}

/** Checks an operator's request except for the stream key. Refuses with 422 and the path. */
export function checkWish(
  wish: Omit<TombstoneWish, "grace_hours"> & { readonly grace_hours?: number },
  environment: Environment,
): Outcome<TombstoneWish> {
  const { key, reason, legal_basis } = wish;
  const hoursMin = environment === "production" ? limits.erasureGraceHoursMin : 0;
  const { grace_hours = limits.erasureGraceHoursMin } = wish;
  for (const [path, text] of Object.entries({ reason, legal_basis })) {
    if (text === undefined || isText(text)) continue;
    const message = `${path} must have 1 to ${limits.erasureReasonCharactersMax} characters`;
    return refuse({ kind: "operator_input_invalid", path, message });
  }
  if (
    !Number.isInteger(grace_hours) || grace_hours < hoursMin ||
    grace_hours > limits.erasureGraceHoursMax
  ) {
    const message = `grace_hours must be a whole number from ${hoursMin} to ` +
      `${limits.erasureGraceHoursMax} in ${environment}`;
    return refuse({ kind: "operator_input_invalid", path: "grace_hours", message });
  }
  return accept({ key, reason, ...(legal_basis !== undefined && { legal_basis }), grace_hours });
}

/** The text will be signed, and a lone surrogate has no bytes in UTF-8. */
function isText(text: string): boolean {
  const isShort = text.length > 0 && text.length <= limits.erasureReasonCharactersMax;
  return isShort && text.isWellFormed();
}

export function newTombstone(
  id: string,
  wish: TombstoneWish & { readonly key: StreamKey },
  requestedBy: string,
  nowMs: number,
): Tombstone {
  const executeAtMs = nowMs + wish.grace_hours * MS_PER_HOUR;
  return {
    id,
    ...wish,
    state: "pending",
    requested_at: new Date(nowMs).toISOString(),
    // It will be signed one day, and it comes from a token that we did not write.
    requested_by: requestedBy.slice(0, REQUESTER_CHARACTERS_MAX).toWellFormed(),
    execute_at: new Date(executeAtMs).toISOString(),
    executeAtMs,
  };
}

/** Whether the erasure has reached an end state. */
export function isErasureOver({ state }: Pick<Tombstone, "state">): boolean {
  return state === "completed" || state === "cancelled";
}

/** Drops the fields that only the worker needs. */
export function viewTombstone(tombstone: Tombstone): TombstoneView {
  const { executeAtMs: _, imported: __, rewrite: ___, result: ____, ...rest } = tombstone;
  const { removal: _____, ...view } = rest;
  return view;
}
