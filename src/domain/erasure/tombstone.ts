/**
 * A request to erase a stream, from the moment it is made to its receipt. Decisions, section 18.
 *
 *     pending --(its time has come)--> running --> completed
 *        +----(taken back)----> cancelled
 */

import type { ListPage } from "../list_page.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import type { StreamKey } from "../stream_key.ts";
import type { Environment } from "../tenant.ts";
import type { ErasureReceipt } from "./receipt.ts";

export const TOMBSTONE_STATES = ["pending", "running", "completed", "cancelled"] as const;
export type TombstoneState = typeof TOMBSTONE_STATES[number];

/** What operators say of an erasure. */
export interface TombstoneWish {
  /** Of a stream. */
  readonly key: string;
  readonly reason: string;
  readonly legal_basis?: string;
  /** From the request to the execution. */
  readonly grace_hours: number;
}

/** As `GET /_admin/tombstones` shows it. Times are ISO 8601 UTC. */
export interface TombstoneView extends TombstoneWish {
  readonly id: string;
  readonly key: StreamKey;
  readonly state: TombstoneState;
  readonly requested_at: string;
  /** The operator, as their token names them. */
  readonly requested_by: string;
  /** Not before this is the stream erased. */
  readonly execute_at: string;
  readonly cancelled_at?: string;
  /** When readers began to see the markers. */
  readonly executed_at?: string;
  /** When the last copy was gone. */
  readonly completed_at?: string;
  readonly receipt?: ErasureReceipt;
}

/** What the rewrite has done, once its markers have taken the place of the events. */
export interface RewriteResult {
  /** Of the stream as it is since. */
  readonly generation: number;
  /** Events that were in the stream. */
  readonly event_count: number;
  /** Those that became markers; the others were markers already. */
  readonly erased_count: number;
  /** Chain hashes of the last event, before and since. */
  readonly previous_tip: string;
  readonly tip: string;
}

/** How far the markers are that are built beside the events. */
export interface RewriteProgress {
  readonly generation: number;
  /** Events that have their marker. */
  readonly length: number;
  readonly erased: number;
  /** Of the markers, in UTF-8. */
  readonly bytes: number;
  readonly tip?: string;
  readonly peaks: readonly string[];
}

/** Where the removal of copies is: which kind, and from where on. */
export interface RemovalProgress {
  readonly copy?: string;
  readonly after?: string;
}

/** As it is kept. */
export interface Tombstone extends Omit<TombstoneView, "receipt"> {
  readonly executeAtMs: number;
  /** It came with an import: its receipt is signed by the instance where it was made. */
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
/** Those asked for later sort behind. */
export function tombstoneId(nowMs: number, random: Uint8Array): string {
  return `tmb_${nowMs.toString(16).padStart(TIME_DIGITS, "0")}${random.toHex()}`;
}

/** Checks what an operator has sent, but for the stream; 422 with the path. */
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

/** It is signed: half characters have no bytes. */
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
    // It is signed one day, and may come from anywhere.
    requested_by: requestedBy.slice(0, REQUESTER_CHARACTERS_MAX).toWellFormed(),
    execute_at: new Date(executeAtMs).toISOString(),
    executeAtMs,
  };
}

/** Whether nothing will change it any more. */
export function isOver({ state }: Pick<Tombstone, "state">): boolean {
  return state === "completed" || state === "cancelled";
}

/** Without what only the worker needs. */
export function viewTombstone(tombstone: Tombstone): TombstoneView {
  const { executeAtMs: _, imported: __, rewrite: ___, result: ____, ...rest } = tombstone;
  const { removal: _____, ...view } = rest;
  return view;
}
