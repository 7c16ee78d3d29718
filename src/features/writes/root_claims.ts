/**
 * Claims what one transaction may take from the budgets of roots. The count of a root is read
 * guarded and then set, so it is exact under concurrency. Transactions conflict on it only if
 * they work for the same root, and only for reactions deeper than one step. Reactions beyond
 * the limit are left out, and the root's record reports that once. See
 * docs/reference/reactions.md.
 *
 * Reactions of recurring timers are counted by conflict-free additions, because the whole
 * environment shares that count. So they may exceed their limit by what is written at the same
 * moment.
 */

import type { ErrorRecord } from "../../domain/error_record.ts";
import { limits } from "../../domain/limits.ts";
import { hourOf, type Root, rootKey } from "../../domain/reaction/root.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Written } from "../../domain/write/write.ts";
import type { Transaction } from "../../kv/engine.ts";
import { readErrorRecord, storeErrorRecord } from "../../store/error_records.ts";
import {
  countRecurring,
  createRoot,
  readRecurring,
  readRoot,
  type RootRecord,
  saveRoot,
} from "../../store/reactions/roots.ts";
import type { PreparedReactions, PreparedWrite } from "./prepared_write.ts";
import { makeNamedErrorRecord } from "../base/record_error.ts";

/** What one transaction knows of budgets; it changes with each claim. */
export interface RootClaims {
  readonly tenant: number;
  readonly nowMs: number;
  readonly roots: Map<string, RootClaim>;
  /** The budget of the current hour; undefined if no write asks for it. */
  recurring: RecurringClaim | undefined;
  /** Error records to store, about budgets that have reached their limit. */
  readonly errors: ErrorRecord[];
}

interface RootClaim {
  readonly before: RootRecord | undefined;
  count: number;
  isReported: boolean;
  isChanged: boolean;
}

interface RecurringClaim {
  readonly before: number;
  added: number;
  isReported: boolean;
}

/** With more than this many requested reactions, those of recurring timers are counted exactly. */
const EXACT_FROM = 16;
const MS_PER_HOUR = 3_600_000;

/** Reads the budgets that `writes` may draw on; undefined if there are none. */
export async function readRootClaims(
  tx: Transaction,
  tenant: number,
  writes: readonly PreparedWrite[],
): Promise<RootClaims | undefined> {
  let claims: RootClaims | undefined;
  const drawing: { readonly root: Root; readonly count: number }[] = [];
  for (const { root, nowMs, targets } of writes) {
    if (root === undefined || targets[0]!.reactions === undefined) continue;
    claims ??= { tenant, nowMs, roots: new Map(), recurring: undefined, errors: [] };
    for (const { entries, schedules } of targets[0]!.reactions.values()) {
      const isTurning = schedules.some((schedule) => schedule.root?.isRecurring);
      if (!root.isRecurring) drawing.push({ root, count: 0 });
      if (root.isRecurring || isTurning) {
        drawing.push({
          root: { ...root, isRecurring: true },
          count: entries.length + schedules.length,
        });
      }
    }
  }
  if (claims !== undefined) await readDrawn(tx, claims, drawing);
  return claims;
}

async function readDrawn(
  tx: Transaction,
  claims: RootClaims,
  drawing: readonly { readonly root: Root; readonly count: number }[],
): Promise<void> {
  const { tenant, nowMs, roots } = claims;
  const plain = drawing.filter(({ root }) => !root.isRecurring);
  const recurring = drawing.filter(({ root }) => root.isRecurring);
  const names = new Map(plain.map(({ root }) => [root.of, root]));
  const reading: Promise<void>[] = [...names.values()].map(async (root) => {
    roots.set(root.of, openClaim(root, await readRoot(tx, tenant, root.of)));
  });
  if (recurring.length > 0) {
    const asked = recurring.reduce((sum, { count }) => sum + count, 0);
    reading.push(
      readHour(tx, tenant, nowMs, asked).then((hour) => {
        claims.recurring = hour;
      }),
    );
  }
  await Promise.all(reading);
}

function openClaim(root: Root, before: RootRecord | undefined): RootClaim {
  const count = before?.count ?? root.first;
  return { before, count, isReported: before?.isReported ?? false, isChanged: false };
}

async function readHour(
  tx: Transaction,
  tenant: number,
  nowMs: number,
  asked: number,
): Promise<RecurringClaim> {
  const reads = asked > EXACT_FROM ? tx : tx.unguarded;
  const before = await readRecurring(reads, tenant, hourOf(nowMs));
  return { before, added: 0, isReported: false };
}

/** The part of `own` that its budgets allow, counted from the first. */
export function claimReactions(
  claims: RootClaims,
  write: PreparedWrite,
  own: PreparedReactions,
): ClaimedReactions {
  const { root } = write;
  const entries = own.entries.slice(0, claim(claims, root!, own.entries.length));
  let isSpent = entries.length < own.entries.length && !root!.isRecurring;
  let isKept = false;
  const schedules = own.schedules.filter((schedule) => {
    const isRecurring = schedule.root?.isRecurring ?? false;
    const isGranted = claim(claims, { ...root!, isRecurring }, 1) === 1;
    // The first recurring timer goes on even if the budget is spent: it only sets itself again.
    const isFirst = isRecurring && !isKept;
    if (isFirst) isKept = true;
    if (isFirst && !isGranted) claims.recurring!.added++;
    if (!isGranted && !isRecurring) isSpent = true;
    return isGranted || isFirst;
  });
  const left = own.entries.length + own.schedules.length - entries.length - schedules.length;
  if (left > 0) reportLimit(claims, write, isSpent);
  return { entries, schedules, isRootSpent: isSpent };
}

export interface ClaimedReactions extends PreparedReactions {
  /** Whether something was left out because the budget of its root is spent. */
  readonly isRootSpent: boolean;
}

/** Takes up to `wanted` from the budget of a root. Returns how much was granted. */
function claim(claims: RootClaims, root: Root, wanted: number): number {
  if (wanted === 0) return 0;
  if (root.isRecurring) {
    const hour = claims.recurring!;
    const left = limits.recurringEventsPerHourMax - hour.before - hour.added;
    const granted = Math.min(wanted, Math.max(0, left));
    hour.added += granted;
    return granted;
  }
  const own = claims.roots.get(root.of)!;
  const granted = Math.min(wanted, Math.max(0, limits.rootEventsMax - own.count));
  own.count += granted;
  if (granted > 0) own.isChanged = true;
  return granted;
}

function reportLimit(claims: RootClaims, write: PreparedWrite, isOfRoot: boolean): void {
  const { root, requestId } = write;
  const [target] = write.targets;
  const event = { event_key: target!.key, event_type: target!.events[0]!.type };
  if (isOfRoot) reportRoot(claims, root!, event, requestId);
  else reportRecurring(claims, event, requestId);
}

function reportRoot(
  claims: RootClaims,
  root: Root,
  event: Record<string, string>,
  requestId: string,
): void {
  const own = claims.roots.get(root.of)!;
  if (own.isReported) return;
  own.isReported = true;
  own.isChanged = true;
  claims.errors.push(rootError(claims.nowMs, root, own.count, event, requestId));
}

function rootError(
  nowMs: number,
  { of }: Root,
  count: number,
  event: Record<string, string>,
  requestId: string,
): ErrorRecord {
  const { rootEventsMax: limit } = limits;
  const root_key = rootKey(of);
  return makeNamedErrorRecord(nowMs, `root ${of}`, {
    error_type: "reaction_limit_exceeded",
    message: `A write to ${root_key} has set off ${count} events, over all depths. ` +
      `One write may set off ${limit}: the rest is not written`,
    context: { operation: "imply", root_key, set_off: count, limit, ...event },
    request_id: requestId,
  });
}

function reportRecurring(
  claims: RootClaims,
  event: Record<string, string>,
  requestId: string,
): void {
  const hour = claims.recurring!;
  if (hour.isReported) return;
  hour.isReported = true;
  const { recurringEventsPerHourMax: limit } = limits;
  const startMs = hourOf(claims.nowMs) * MS_PER_HOUR;
  claims.errors.push(makeNamedErrorRecord(startMs, "recurring timers", {
    error_type: "reaction_limit_exceeded",
    message: "Timers that set themselves again have set off too much in this hour. They may set " +
      `off ${limit} events in an environment within an hour: the rest is not written`,
    context: { operation: "imply", limit, ...event },
    request_id: requestId,
  }));
}

/**
 * Claims everything that a saga may write, for all its steps, before it starts. So no saga ends
 * half done because of the limit. `isGranted` is false if the budget does not suffice; then the
 * saga must not be started.
 */
export async function claimSaga(
  tx: Transaction,
  tenant: number,
  root: Root,
  saga: SagaStart,
): Promise<{ readonly isGranted: boolean; readonly errors: readonly ErrorRecord[] }> {
  const { nowMs, steps, requestId, eventKey, eventType } = saga;
  const claims: RootClaims = { tenant, nowMs, roots: new Map(), recurring: undefined, errors: [] };
  await readDrawn(tx, claims, [{ root, count: steps }]);
  const isGranted = isLeft(claims, root, steps) && claim(claims, root, steps) === steps;
  if (!isGranted) {
    const event = { event_key: eventKey, event_type: eventType, saga: saga.name };
    if (root.isRecurring) reportRecurring(claims, event, requestId);
    else reportRoot(claims, root, event, requestId);
  }
  return { isGranted, errors: await flushRootClaims(tx, claims, eventKey) };
}

export interface SagaStart {
  readonly nowMs: number;
  readonly name: string;
  readonly steps: number;
  readonly requestId: string;
  /** The saga's trigger. */
  readonly eventKey: string;
  readonly eventType: string;
}

function isLeft({ roots, recurring }: RootClaims, { of, isRecurring }: Root, wanted: number) {
  if (!isRecurring) return roots.get(of)!.count + wanted <= limits.rootEventsMax;
  const { before, added } = recurring!;
  return before + added + wanted <= limits.recurringEventsPerHourMax;
}

/** Stores what was claimed. Returns the error records that it stored. */
export async function flushRootClaims(
  tx: Transaction,
  claims: RootClaims,
  subject: string,
): Promise<readonly ErrorRecord[]> {
  const { tenant, nowMs, roots, recurring, errors } = claims;
  for (const [of, { before, count, isReported, isChanged }] of roots) {
    if (!isChanged) continue;
    const record = { ...before, count, changedMs: nowMs, ...(isReported && { isReported }) };
    if (before === undefined) createRoot(tx, tenant, of, record);
    else saveRoot(tx, tenant, of, record);
  }
  if (recurring !== undefined && recurring.added > 0) {
    countRecurring(tx, tenant, { hour: hourOf(nowMs), events: recurring.added, subject });
  }
  const stored: ErrorRecord[] = [];
  for (const error of errors) {
    if (await readErrorRecord(tx.unguarded, tenant, error.error_id, nowMs) !== undefined) continue;
    storeErrorRecord(tx, tenant, error);
    stored.push(error);
  }
  return stored;
}

/**
 * Stores `error` unless one for the same root and spec is already stored. Returns true if it
 * did.
 */
export async function noteDropped(
  tx: Transaction,
  tenant: number,
  { of, first }: Root,
  specHash: string,
  nowMs: number,
  error: ErrorRecord,
): Promise<boolean> {
  const before = await readRoot(tx, tenant, of);
  if (before?.droppedUnder === specHash) return false;
  const record = { ...before, count: before?.count ?? first, changedMs: nowMs };
  if (before === undefined) createRoot(tx, tenant, of, { ...record, droppedUnder: specHash });
  else saveRoot(tx, tenant, of, { ...record, droppedUnder: specHash });
  storeErrorRecord(tx, tenant, error);
  return true;
}

/**
 * Attaches the error records to the first write whose root is spent, or else to the first
 * write, so that they get counted.
 */
export function tellErrors(outcomes: Outcome<Written>[], rootErrors: readonly ErrorRecord[]): void {
  const at = outcomes.findIndex((outcome) => outcome.ok && outcome.value.isRootSpent);
  const outcome = outcomes[Math.max(0, at)];
  if (outcome?.ok) outcomes[Math.max(0, at)] = accept({ ...outcome.value, rootErrors });
}
