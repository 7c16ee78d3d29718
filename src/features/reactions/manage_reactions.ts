/**
 * Lets operators list, pause and resume all pending reactions of an environment, and discard
 * some. An error record says what was discarded and by whom. See docs/reference/pending.md.
 */

import { countErrors, type Counters } from "../../domain/measures/counters.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import {
  isMatch,
  type PendingCounts,
  type PendingFilter,
  type PendingKind,
  type PendingView,
} from "../../domain/reaction/pending.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { countReactions } from "./count_reactions.ts";
import type { PausedReactions } from "./follow_pauses.ts";
import { storeErrorRecord } from "../../store/error_records.ts";
import { clearEntry, hasEntry } from "../../store/reactions/outbox.ts";
import {
  clearAside,
  putAside,
  putBack,
  readPause,
  savePause,
} from "../../store/reactions/paused_reactions.ts";
import {
  listPendingReactions,
  PENDING_SOURCES,
  type PendingPage,
  type PendingPlace,
  type PendingReaction,
} from "../../store/reactions/pending_reactions.ts";
import { cancelledFor, readSchedule, removeSchedule } from "../../store/reactions/schedules.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { type ListPage, listPage, pageLimit } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Timer } from "../../store/timers.ts";
import { Buffer } from "node:buffer";
import { isJsonObject } from "../../domain/json.ts";
import { nameCostOf } from "../../domain/json_text/name_cost.ts";
import type { StreamKey } from "../../domain/identifier.ts";

/** The state of an environment, and a page of its pending reactions. */
export interface PendingReactions extends ListPage<PendingView> {
  readonly paused: boolean;
  /** Since when and by whom it is paused; absent if it is not. */
  readonly paused_since?: string;
  readonly paused_by?: string;
  readonly pending: PendingCounts;
}

/** How many entries are read at a time. */
const PAGE = 100;
/** A page ends with the entry that makes it so many bytes as stored, for each is decoded. */
const SHOWN_BYTES_MAX = 4 * 1024 * 1024;

export async function readPendingReactions(
  engine: Engine,
  host: Host,
  { number }: Tenant,
  { start, limit }: PageRequest,
): Promise<Outcome<PendingReactions>> {
  const from = start === undefined ? PENDING_SOURCES[0] : openPendingPlace(host, start);
  if (from === undefined) {
    return refuse({
      kind: "bad_request",
      path: "start",
      message: "start must be a cursor that this list has returned",
    });
  }
  const pause = await engine.snapshot((tx) => readPause(tx, number));
  const isPaused = pause?.state === "paused";
  const page = await readPage(engine, host, { tenant: number, from, limit: pageLimit(limit) });
  return accept({
    ...listPage(page.views, limit, page.next && sealPendingPlace(page.next)),
    paused: isPaused,
    ...(isPaused && { paused_since: pause.since, paused_by: pause.by }),
    pending: await countReactions(engine, host, number),
  });
}

interface PendingRead {
  readonly tenant: number;
  readonly from: PendingPlace;
  readonly limit: number;
}

async function readPage(
  engine: Engine,
  host: Host,
  { tenant, from, limit }: PendingRead,
): Promise<{ readonly views: readonly PendingView[]; readonly next: PendingPlace | undefined }> {
  const pieces = openPieces(host);
  const views: PendingView[] = [];
  let bytes = 0;
  let place: PendingPlace | undefined = from;
  while (place !== undefined) {
    await pieces.rest();
    const at: PendingPlace = place;
    const page: PendingPage = await engine.snapshot((tx) =>
      listPendingReactions(tx, tenant, at, PAGE)
    );
    for (const piece of page.pieces) {
      // One more than the page holds proves that something follows.
      if (views.length === limit || bytes >= SHOWN_BYTES_MAX) return { views, next: place };
      await pieces.rest();
      views.push(piece.open().view);
      bytes += piece.bytes;
      place = piece.place;
    }
    place = page.next;
  }
  return { views, next: undefined };
}

export interface ManageParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly counters: Counters;
  readonly paused: PausedReactions;
  readonly sagas: SagaAdvancer;
}

export interface DiscardRequest {
  readonly filter: PendingFilter;
  /** Where an earlier call stopped. */
  readonly start?: string;
  readonly by: string;
  readonly requestId: string;
}

/** How many were discarded; `next_start` is set if there may be more. */
export interface Discarded {
  readonly discarded: Readonly<Record<PendingKind, number>>;
  readonly truncated: boolean;
  readonly next_start?: string;
}

/** Limits of one call: milliseconds, and pending reactions it looks at. */
const CALL_MS_MAX = 2_000;
const PIECES_MAX = 10_000;
/** Pending reactions per transaction. */
const AT_A_TIME = 100;

/** Stops all reactions of the environment; the nodes hear of it within seconds. */
export async function pauseReactions(
  { engine, host, paused }: ManageParts,
  { number }: Tenant,
  by: string,
): Promise<void> {
  const since = new Date(host.nowMs()).toISOString();
  await engine.transact(async (tx) => {
    if ((await readPause(tx, number))?.state === "paused") return;
    savePause(tx, number, { state: "paused", since, by });
  });
  paused.forget();
  await paused.ready();
}

/** Lets everything that waits go on; timers that are overdue fire late. */
export async function resumeReactions(
  { engine, paused }: ManageParts,
  { number }: Tenant,
): Promise<void> {
  await engine.transact(async (tx) => {
    const pause = await readPause(tx, number);
    if (pause?.state === "paused") savePause(tx, number, { ...pause, state: "resuming" });
  });
  paused.forget();
  await paused.ready();
}

/** Discards what matches the filter until nothing is left or the call has taken long enough. */
export async function discardReactions(
  parts: ManageParts,
  tenant: Tenant,
  { filter, start, by, requestId }: DiscardRequest,
): Promise<Outcome<Discarded>> {
  const { engine, host } = parts;
  const discarded = { implied: 0, scheduled: 0, saga: 0 };
  const first = start === undefined ? PENDING_SOURCES[0] : openPendingPlace(host, start);
  if (first === undefined) {
    return refuse({
      kind: "bad_request",
      path: "start",
      message: "start must be a cursor that this list has returned",
    });
  }
  let place: PendingPlace | undefined = first;
  const pieces = openPieces(host);
  const endMs = host.monotonicMs() + CALL_MS_MAX;
  let looked = 0;
  while (place !== undefined && looked < PIECES_MAX && host.monotonicMs() < endMs) {
    await pieces.rest();
    const at: PendingPlace = place;
    const page: PendingPage = await engine.snapshot((tx) =>
      listPendingReactions(tx, tenant.number, at, AT_A_TIME)
    );
    const found: PendingReaction[] = [];
    for (const piece of page.pieces) {
      await pieces.rest();
      const reaction = piece.open();
      if (isMatch(reaction.view, filter)) found.push(reaction);
    }
    for (let from = 0; from < found.length; from += AT_A_TIME) {
      const some = found.slice(from, from + AT_A_TIME);
      for (const kind of await discardSome(parts, tenant.number, some, by)) discarded[kind]++;
    }
    looked += page.pieces.length;
    place = page.next;
  }
  await noteDiscarded(parts, tenant, discarded, { filter, by, requestId });
  if (place === undefined) return accept({ discarded, truncated: false });
  return accept({ discarded, truncated: true, next_start: sealPendingPlace(place) });
}

/** Discards in one transaction. Returns the kinds of those that were still there. */
async function discardSome(
  { engine, host, sagas }: ManageParts,
  tenant: number,
  some: readonly PendingReaction[],
  by: string,
): Promise<PendingKind[]> {
  return await engine.transact(async (tx) => {
    const kinds: PendingKind[] = [];
    const pieces = openTransactionPieces(host, tenant);
    for (const { view, work, schedule, saga } of some) {
      await pieces.rest();
      const isThere = work !== undefined
        ? await hasEntry(tx, work.place)
        : schedule !== undefined
        ? await discardSchedule(tx, tenant, schedule.id, host.nowMs())
        : await sagas.discard(tx, tenant, saga!.instance.id, { by, nowMs: host.nowMs() });
      if (!isThere) continue;
      if (work !== undefined) clearEntry(tx, work);
      kinds.push(view.kind);
    }
    return kinds;
  });
}

async function discardSchedule(
  tx: Transaction,
  tenant: number,
  id: string,
  nowMs: number,
): Promise<boolean> {
  const record = await readSchedule(tx, tenant, id);
  if (record === undefined) return false;
  removeSchedule(tx, tenant, record, cancelledFor("operator", nowMs));
  clearAside(tx, { dueMs: record.timerMs, tenant, kind: "scheduled", id });
  return true;
}

async function noteDiscarded(
  { engine, host, counters }: ManageParts,
  { number }: Tenant,
  discarded: Discarded["discarded"],
  { filter, by, requestId }: Omit<DiscardRequest, "start">,
): Promise<void> {
  const count = discarded.implied + discarded.scheduled + discarded.saga;
  if (count === 0) return;
  const record = makeErrorRecord(host, {
    error_type: "reactions_discarded",
    message: `${count} pending reactions were discarded by '${by}'`,
    context: { operation: "discard_reactions", by, ...discarded, filter: { ...filter } },
    request_id: requestId,
  });
  await engine.transact((tx) => Promise.resolve(storeErrorRecord(tx, number, record)));
  countErrors(counters, [record]);
}

/** Timers that one transaction moves. */
const TIMERS_AT_A_TIME = 500;
const NONE: ReadonlySet<Timer> = new Set();

/**
 * Sets aside the timers whose environment is paused, and returns them. The others fire as
 * usual.
 */
export async function putTimersAside(
  engine: Engine,
  paused: PausedReactions,
  due: readonly Timer[],
): Promise<ReadonlySet<Timer>> {
  const found = due.filter(({ tenant, kind }) =>
    (kind === "scheduled" || kind === "saga") && paused.tenants.has(tenant)
  );
  if (found.length === 0) return NONE;
  for (const tenant of new Set(found.map(({ tenant }) => tenant))) {
    const own = found.filter((timer) => timer.tenant === tenant);
    for (let at = 0; at < own.length; at += TIMERS_AT_A_TIME) {
      await engine.transact((tx) => putAside(tx, tenant, own.slice(at, at + TIMERS_AT_A_TIME)));
    }
  }
  return new Set(found);
}

/** Puts back the next timers of each environment that is resuming. Returns how many. */
export async function returnTimers(
  engine: Engine,
  paused: PausedReactions,
): Promise<number> {
  let returned = 0;
  for (const tenant of paused.resuming()) {
    returned += await engine.transact((tx) => putBack(tx, tenant, TIMERS_AT_A_TIME));
  }
  return returned;
}

/** Longer than any cursor, which holds a stream key. */
const START_CHARACTERS_MAX = 2_000;

/** The cursor of a list, as an opaque text that clients send back unchanged. */
function sealPendingPlace(place: PendingPlace): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** Undefined if no list has returned this text. */
function openPendingPlace(host: Host, text: string): PendingPlace | undefined {
  if (text.length > START_CHARACTERS_MAX) return undefined;
  let place: unknown;
  try {
    place = nameCostOf(host).parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
  if (!isJsonObject(place)) return undefined;
  const { source, state, after } = place;
  if (source === "outbox") return openOutboxPlace(after);
  if (after !== undefined && typeof after !== "string") return undefined;
  const rest = after === undefined ? {} : { after };
  if (source === "schedules") return { source, ...rest };
  if (source !== "sagas" || (state !== "running" && state !== "compensating")) return undefined;
  return { source, state, ...rest };
}

function openOutboxPlace(after: unknown): PendingPlace | undefined {
  if (after === undefined) return { source: "outbox" };
  if (!isJsonObject(after)) return undefined;
  const { stream, index, number } = after;
  const isPlace = typeof stream === "string" && Number.isSafeInteger(index) &&
    Number.isSafeInteger(number);
  if (!isPlace) return undefined;
  const known = { stream: stream as StreamKey, index: index as number, number: number as number };
  return { source: "outbox", after: known };
}
