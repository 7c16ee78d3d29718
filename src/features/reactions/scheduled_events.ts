/**
 * Lists, reads and cancels scheduled events that have not fired: `/_scheduled`. See
 * docs/reference/pending.md.
 */

import { limits } from "../../domain/limits.ts";
import { checkStart, listPage, pageLimit } from "../../domain/list_page.ts";
import { accept, ACCEPTED, type Outcome, refuse } from "../../domain/refusal.ts";
import type { ScheduledPage, ScheduledView } from "../../domain/reaction/scheduled.ts";
import { openPieces, type Turns, waitForTurn } from "../../domain/fairness/pieces.ts";
import { splitStreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import {
  cancelledFor,
  decodeSchedule,
  findSchedules,
  isCancelled,
  readSchedule as readRecord,
  readStoredSchedule,
  removeSchedule,
  type ScheduleRecord,
} from "../../store/reactions/schedules.ts";

/** Longer than any id, so a longer text names nothing. */
const ID_CHARACTERS_MAX = 64;
/**
 * How many records one page looks at, give or take a page: cancelled ones stay until they are
 * due.
 */
const LOOKED_AT_MAX = 1_000;
/** Pieces of large records that one page looks at. */
const PIECES_MAX = 4;
/** Bytes of records that are decoded without waiting for a turn: many may be read in one. */
const AT_ONCE_BYTES = 16 * 1024;

/**
 * Sorted by id. A page that has looked at {@link LOOKED_AT_MAX} records, or at a megabyte of
 * them, ends early: it may be empty, and `truncated` may then be true although nothing follows.
 * Otherwise `truncated` is exact.
 */
export async function showSchedules(
  engine: Engine,
  turns: Turns,
  tenant: Tenant,
  request: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<ScheduledPage>> {
  const { start } = request;
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const limit = pageLimit(request.limit);
  // One more than the page holds shows whether anything follows.
  const asked = { tenant: tenant.number, start, count: limit + 1 };
  const { pending, lastLookedAt } = await listPending(engine, turns, asked);
  const data = pending.slice(0, limit);
  const nextStart = pending.length > limit ? data.at(-1)!.id : lastLookedAt;
  return accept(listPage(data.map(viewOf), request.limit, nextStart));
}

interface PendingRequest {
  readonly tenant: number;
  readonly start: string | undefined;
  readonly count: number;
}

/**
 * `lastLookedAt`: where the search gave up, with fewer than `count` found and the list not at
 * its end. Each page has a transaction of its own, and others have turns only in between: a
 * transaction may last for five seconds, and there may be many such searches.
 */
async function listPending(
  engine: Engine,
  turns: Turns,
  { tenant, start, count }: PendingRequest,
): Promise<{ readonly pending: readonly ScheduleRecord[]; readonly lastLookedAt?: string }> {
  const pieces = openPieces(turns);
  const pending: ScheduleRecord[] = [];
  let last = start;
  let limit = count;
  let looked = 0;
  for (let piece = 0; looked < LOOKED_AT_MAX && piece < PIECES_MAX; piece++) {
    const page = { start: last, limit };
    const { found, isLast } = await engine.snapshot((tx) => findSchedules(tx, tenant, page));
    const bytes = found.reduce((sum, { value }) => sum + value.length, 0);
    if (bytes > AT_ONCE_BYTES) await waitForTurn(turns, true);
    const records: ScheduleRecord[] = [];
    for (const { value } of found) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      records.push(decodeSchedule(value));
    }
    pending.push(...await withoutCancelled(engine, tenant, records));
    if (pending.length >= count || isLast) return { pending };
    last = found.at(-1)!.id;
    looked += found.length;
    // The first look usually suffices.
    limit = limits.listPageMax;
  }
  return { pending, lastLookedAt: last };
}

async function withoutCancelled(
  engine: Engine,
  tenant: number,
  records: readonly ScheduleRecord[],
): Promise<readonly ScheduleRecord[]> {
  if (records.every(({ cancelOn }) => cancelOn.length === 0)) return records;
  const cancelled = await engine.snapshot((tx) =>
    Promise.all(records.map((one) => isCancelled(tx, tenant, one)))
  );
  return records.filter((_, index) => !cancelled[index]);
}

export async function readScheduled(
  engine: Engine,
  turns: Turns,
  { number: tenant }: Tenant,
  id: string,
): Promise<Outcome<ScheduledView>> {
  if (id.length > ID_CHARACTERS_MAX) return refuseSchedule();
  const value = await engine.snapshot((tx) => readStoredSchedule(tx, tenant, id));
  if (value === undefined) return refuseSchedule();
  if (value.length > AT_ONCE_BYTES) await waitForTurn(turns, true);
  const [record] = await withoutCancelled(engine, tenant, [decodeSchedule(value)]);
  return record === undefined ? refuseSchedule() : accept(viewOf(record));
}

/** The record, unless it has fired or was cancelled. */
export async function findPending(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  id: string,
): Promise<ScheduleRecord | undefined> {
  if (id.length > ID_CHARACTERS_MAX) return undefined;
  const record = await readRecord(tx, tenant, id);
  return record && await isCancelled(tx, tenant, record) ? undefined : record;
}

export function refuseSchedule() {
  const message = "There is no such scheduled event, or it has fired or was cancelled";
  return refuse({ kind: "not_found", message });
}

function viewOf(record: ScheduleRecord): ScheduledView {
  const { id, fireAtMs, createdMs, emission, cancelOn, by } = record;
  return {
    scheduled_id: id,
    fire_at: new Date(fireAtMs).toISOString(),
    created_at: new Date(createdMs).toISOString(),
    key: emission.key,
    event_type: emission.eventType,
    data: emission.data,
    cancel_on: cancelOn.map(({ key, eventType }) => {
      const { type: aggregate_type, id } = splitStreamKey(key);
      return { aggregate_type, id, event_type: eventType };
    }),
    scheduled_by: { key: by.key, event_type: by.eventType, stream_id: by.streamId },
  };
}

/**
 * Once this resolves, the event never fires. Refuses with `not_found` if it has fired or was
 * cancelled.
 */
export async function cancelSchedule(
  engine: Engine,
  tenant: Tenant,
  id: string,
  nowMs: number,
): Promise<Outcome<void>> {
  return await engine.transact(async (tx) => {
    const record = await findPending(tx, tenant.number, id);
    if (record === undefined) return refuseSchedule();
    removeSchedule(tx, tenant.number, record, cancelledFor("request", nowMs));
    return ACCEPTED;
  });
}

const MESSAGE_CHARACTERS_MAX = 500;

/** The record of an error that has kept a scheduled event from being written. */
export function scheduleError(host: Host, record: ScheduleRecord, message: string) {
  const { id, emission: { key, eventType }, by, requestId } = record;
  return makeErrorRecord(host, {
    error_type: "implication_failed",
    message: message.slice(0, MESSAGE_CHARACTERS_MAX),
    context: {
      operation: "fire_scheduled",
      scheduled_id: id,
      event_key: by.key,
      event_type: by.eventType,
      stream_id: by.streamId,
      implied_key: key,
      implied_event_type: eventType,
    },
    request_id: requestId,
  });
}
