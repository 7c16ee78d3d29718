/**
 * Lets operators list, pause and resume all pending reactions of an environment, and discard
 * some. An error record says what was discarded and by whom. See docs/reference/pending.md.
 */

import { countErrors, type Counters } from "../../domain/measures/counters.ts";
import { openPieces, withOwnLine } from "../../domain/fairness/pieces.ts";
import {
  isMatch,
  type PendingCount,
  type PendingCounts,
  type PendingFilter,
  type PendingKind,
  type PendingView,
} from "../../domain/reaction/pending.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
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
  type PendingPiece,
  type PendingPlace,
} from "../../store/reactions/pending_reactions.ts";
import { cancelledFor, readSchedule, removeSchedule } from "../../store/reactions/schedules.ts";
import type { SagaAdvancer } from "../sagas/advance_sagas.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { type ListPage, listPage, pageLimit } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { listTenantDeliveries } from "../../store/listeners/deliveries.ts";
import type { Timer } from "../../store/timers.ts";
import { Buffer } from "node:buffer";
import { isJsonObject } from "../../domain/json.ts";
import type { StreamKey } from "../../domain/identifier.ts";

/** The state of an environment, and a page of its pending reactions. */
export interface PendingReactions extends ListPage<PendingView> {
  readonly paused: boolean;
  /** Since when and by whom it is paused; absent if it is not. */
  readonly paused_since?: string;
  readonly paused_by?: string;
  readonly pending: PendingCounts;
}

/** How many entries of each source are counted at most, and how many are read at a time. */
const COUNTED_MAX = 2_000;
const PAGE = 100;

export async function readPendingReactions(
  engine: Engine,
  host: Host,
  { number }: Tenant,
  { start, limit }: PageRequest,
): Promise<Outcome<PendingReactions>> {
  const from = start === undefined ? PENDING_SOURCES[0] : openPendingPlace(start);
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
    pending: await countPending(engine, host, number),
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
  let place: PendingPlace | undefined = from;
  while (place !== undefined) {
    await pieces.rest();
    const at: PendingPlace = place;
    const page: PendingPage = await engine.snapshot((tx) =>
      listPendingReactions(tx, tenant, at, PAGE)
    );
    for (const piece of page.pieces) {
      // One more than the page holds proves that something follows.
      if (views.length === limit) return { views, next: place };
      views.push(piece.view);
      place = piece.place;
    }
    place = page.next;
  }
  return { views, next: undefined };
}

async function countPending(engine: Engine, host: Host, tenant: number): Promise<PendingCounts> {
  const counts = { implied: newCount(), scheduled: newCount(), saga: newCount() };
  const pieces = openPieces(host);
  let oldest: string | null = null;
  for (const first of PENDING_SOURCES) {
    let place: PendingPlace | undefined = first;
    let counted = 0;
    while (place?.source === first.source && counted < COUNTED_MAX) {
      await pieces.rest();
      const at: PendingPlace = place;
      const page: PendingPage = await engine.snapshot((tx) =>
        listPendingReactions(tx, tenant, at, PAGE)
      );
      for (const { view, bytes } of page.pieces) {
        counts[view.kind].count++;
        counts[view.kind].bytes += bytes;
        if (oldest === null || view.since < oldest) oldest = view.since;
      }
      counted += page.pieces.length;
      place = page.next;
    }
    if (place?.source !== first.source || counted < COUNTED_MAX) continue;
    if (first.source === "outbox") counts.implied.is_more = counts.saga.is_more = true;
    else counts[first.source === "sagas" ? "saga" : "scheduled"].is_more = true;
  }
  return { ...counts, delivery: await countDeliveries(engine, tenant), oldest };
}

async function countDeliveries(engine: Engine, tenant: number): Promise<PendingCount> {
  const found = await engine.snapshot((tx) =>
    listTenantDeliveries(tx, tenant, undefined, COUNTED_MAX + 1)
  );
  const counted = found.slice(0, COUNTED_MAX);
  const bytes = counted.reduce((sum, { delivery }) => sum + JSON.stringify(delivery).length, 0);
  return { count: counted.length, bytes, is_more: found.length > COUNTED_MAX };
}

function newCount(): { count: number; bytes: number; is_more: boolean } {
  return { count: 0, bytes: 0, is_more: false };
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
  const first = start === undefined ? PENDING_SOURCES[0] : openPendingPlace(start);
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
    const found = page.pieces.filter(({ view }) => isMatch(view, filter));
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
  some: readonly PendingPiece[],
  by: string,
): Promise<PendingKind[]> {
  return await engine.transact(async (tx) => {
    const kinds: PendingKind[] = [];
    const pieces = openPieces(withOwnLine(host));
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
function openPendingPlace(text: string): PendingPlace | undefined {
  if (text.length > START_CHARACTERS_MAX) return undefined;
  let place: unknown;
  try {
    place = JSON.parse(Buffer.from(text, "base64url").toString());
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
