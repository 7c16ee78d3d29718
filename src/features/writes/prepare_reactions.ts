/**
 * Computes what events set off, before their transaction, from each event and the spec alone. A
 * reaction that fails becomes an error record and never affects the event. See
 * docs/reference/reactions.md.
 */

import { type Budget, newBudget, PIECE_UNITS } from "../../domain/budget.ts";
import type { ErrorRecord } from "../../domain/error_record.ts";
import { decodeEvent, type EncodedEvent, type StoredEvent } from "../../domain/event.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { checkEmission } from "../../domain/write/check_emission.ts";
import type {
  Action,
  CompiledReactions,
  Emission,
  ReactionFailure,
  Reactions,
  ReactionWork,
} from "../../domain/reaction/action.ts";
import type { ModuleAnswers, ModuleQuestion } from "../../domain/reaction/module_question.ts";
import type { EmitEntry, WaitingEntry } from "../../domain/reaction/outbox_entry.ts";
import type { Steps } from "../../domain/fairness/pieces.ts";
import { keptRoot, type Root, rootName, type StoredRoot } from "../../domain/reaction/root.ts";
import { eventTypesOf } from "../../domain/saga/definition.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { ValidEvent } from "../../domain/write/validate_write.ts";
import { pointBytes } from "../../store/streams/geo_index.ts";
import type { PreparedEntry, PreparedReactions, PreparedSchedule } from "./prepared_write.ts";
import { prepareSchedule } from "./prepare_schedule.ts";
import { makeErrorRecord } from "../base/record_error.ts";
import { encodeEntry, leanEntry } from "../../store/reactions/entry_bytes.ts";
import { type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/** What all events of one write share; the sums grow as events are processed. */
export interface ReactionPlan {
  readonly host: Host;
  readonly spec: CompiledSpec;
  readonly nowMs: number;
  readonly ownWaitMs: number;
  readonly requestId: string;
  /** Depth of the events being written; 0 for a client's. */
  readonly depth: number;
  /** Whether implied events may be written together with their trigger. See `direct_events.ts`. */
  readonly isDirect: boolean;
  /** The root whose budget is used; undefined for a client's write, which is a root itself. */
  readonly root: Root | undefined;
  /** Whether that budget is known to be spent; then nothing more is made for it. */
  readonly isRootSpent: boolean;
  /** Whether the write has several events, which share one budget. */
  readonly isMany: boolean;
  readonly work: ReactionWork;
  readonly answers: ModuleAnswers;
  /** The root that is stored with the work of all events, if they share one. */
  kept: StoredRoot | undefined;
  /** Questions to modules that have no answer yet. */
  readonly questions: ModuleQuestion[];
  /** Bytes that are stored besides the events. */
  bytes: number;
  actions: number;
  /** The first bytes of the ids of its scheduled events: drawn with the first of them. */
  scheduleIdPrefix: Uint8Array | undefined;
  /** Streams of implied events that may be written together with their trigger. */
  readonly directStreams: StreamKey[];
  /** What may still be checked for that: the events, those that failed included, and their work. */
  readonly directChecks: { left: number; readonly work: Budget };
  /** Errors about reactions that failed, up to the limit; the others are only counted. */
  readonly errors: ErrorRecord[];
  errorsLeftOut: number;
}

export function openReactionPlan(
  fixed: Pick<
    ReactionPlan,
    | "host"
    | "spec"
    | "nowMs"
    | "ownWaitMs"
    | "requestId"
    | "depth"
    | "isDirect"
    | "root"
    | "isRootSpent"
    | "isMany"
    | "answers"
  >,
): ReactionPlan {
  const { host, spec, nowMs, ownWaitMs, requestId, depth, isDirect, root, answers } = fixed;
  const { isRootSpent, isMany } = fixed;
  return {
    host,
    spec,
    nowMs,
    ownWaitMs,
    requestId,
    depth,
    isDirect,
    root,
    isRootSpent,
    isMany,
    answers,
    kept: root && keptRoot(root),
    work: newBudget(limits.reactionWorkBytesMax),
    questions: [],
    bytes: 0,
    actions: 0,
    scheduleIdPrefix: undefined,
    directStreams: [],
    directChecks: { left: DIRECT_EVENTS_MAX, work: newBudget(PIECE_UNITS) },
    errors: [],
    errorsLeftOut: 0,
  };
}

const ROOT_ID_BYTES = 8;
/**
 * A key counts in a transaction as written and as a possible conflict. Counted twice here, with
 * its part besides the stream name, everything fits the headroom that a transaction has above
 * the write limit.
 */
const KEY_FACTOR = 2;
const ENTRY_KEY_BYTES = 24;
const SAGAS_ENTRY_BYTES = 200;
const MESSAGE_CHARACTERS_MAX = 500;
/**
 * Implied events of one write that are checked for being written directly, and the length of their
 * data. All checks share one piece of work: the outbox checks the others, one by one.
 */
const DIRECT_EVENTS_MAX = 16;
const DIRECT_DATA_LENGTH_MAX = 2048;
/** What a direct event stores besides its data and keys: metadata and its head. */
const DIRECT_EVENT_BYTES = 640;
const UTF8_BYTES_MAX = 3;
/** Actions of one event, or bytes of them, that are prepared before the work may yield. */
const ACTIONS_OF_PIECE = 32;
const BYTES_OF_PIECE = 256 * 1024;

/** What `events` of one stream set off, by offset; undefined if nothing. */
export function* prepareReactions(
  plan: ReactionPlan,
  aggregateType: string,
  key: StreamKey,
  events: readonly EncodedEvent[],
): Steps<ReadonlyMap<number, PreparedReactions> | undefined> {
  const types = plan.spec.aggregateTypes.get(aggregateType)!.events;
  const shown = shownTypes(plan.spec);
  let prepared: Map<number, PreparedReactions> | undefined;
  for (let offset = 0; offset < events.length; offset++) {
    const { type, raw } = events[offset]!;
    if (shown?.has(`${aggregateType}.${type}`)) {
      plan.bytes += entryKeyBytes(key) + SAGAS_ENTRY_BYTES;
      keptBy(plan, key, 1);
    }
    const reactions = types.get(type)?.reactions;
    if (reactions === undefined) continue;
    if (offset > 0) yield;
    const event = decodeEvent(raw);
    const { actions, failures, questions } = yield* computeReactions(plan, reactions, event);
    if (questions !== undefined) {
      plan.questions.push(...questions);
      continue;
    }
    for (const failure of failures) noteFailure(plan, event, failure);
    if (actions.length === 0) continue;
    const own = yield* prepareActions(plan, key, event, actions);
    if (own.entries.length + own.schedules.length === 0) continue;
    prepared ??= new Map();
    prepared.set(offset, own);
    // The write will be refused, so it does not matter what the rest sets off.
    if (plan.actions > limits.implicationActionsMax) break;
    if (plan.bytes > limits.writeStoredBytesMax) break;
  }
  return prepared;
}

/** Limits each event to its own share, and all events to that of the write. */
function* computeReactions(
  plan: ReactionPlan,
  reactions: CompiledReactions,
  event: StoredEvent,
): Steps<Reactions> {
  const allowed = Math.min(plan.work.left, limits.eventReactionWorkBytesMax);
  const own = newBudget(allowed);
  try {
    return yield* reactions.steps(event, own, plan.answers);
  } finally {
    plan.work.left -= allowed - own.left;
  }
}

/** What a write sets off is not known before modules have been asked. See `ask_modules.ts`. */
export class ModulesToAsk extends Error {
  override readonly name = "ModulesToAsk";
  constructor(readonly questions: readonly ModuleQuestion[]) {
    super("modules are to be asked first");
  }
}

/** @throws {ModulesToAsk} if an answer is missing. */
export function requireAnswers({ questions }: ReactionPlan): void {
  if (questions.length > 0) throw new ModulesToAsk(questions);
}

function* prepareActions(
  plan: ReactionPlan,
  key: StreamKey,
  event: StoredEvent,
  actions: readonly Action[],
): Steps<PreparedReactions> {
  const entries: PreparedEntry[] = [];
  const schedules: PreparedSchedule[] = [];
  const keyBytes = entryKeyBytes(key);
  let tooDeep = 0;
  let restAbove = plan.bytes + BYTES_OF_PIECE;
  const kept = keptBy(plan, key, actions.length);
  const isSpent = plan.isRootSpent && !plan.root!.isRecurring;
  for (const [index, action] of actions.entries()) {
    if (index % ACTIONS_OF_PIECE === ACTIONS_OF_PIECE - 1 || plan.bytes >= restAbove) {
      restAbove = plan.bytes + BYTES_OF_PIECE;
      yield;
    }
    if (action.kind === "schedule") {
      const schedule = prepareSchedule(plan, action, kept);
      if (isSpent && !schedule.root!.isRecurring) continue;
      schedules.push(schedule);
      plan.bytes += schedule.bytes;
    } else if (isSpent) {
      continue;
    } else if (plan.depth < limits.implicationDepthMax) {
      const entry = prepareEntry(plan, event, action, kept);
      entries.push(entry);
      plan.bytes += keyBytes + (entry.value?.length ?? directBytes(entry));
    } else tooDeep++;
  }
  if (tooDeep > 0) noteDepth(plan, event, tooDeep);
  plan.actions += entries.length + schedules.length;
  return { entries, schedules };
}

/** The root that the work of one event stores. */
function keptBy(plan: ReactionPlan, key: StreamKey, actions: number): StoredRoot | undefined {
  if (plan.root === undefined && !plan.isMany) {
    return actions > 1 ? { first: actions } : undefined;
  }
  plan.kept ??= { of: rootName(key, `w${plan.host.randomBytes(ROOT_ID_BYTES).toHex()}`) };
  return plan.kept;
}

function prepareEntry(
  plan: ReactionPlan,
  { type: eventType, metadata: { actor } }: StoredEvent,
  { emission }: Extract<Action, { readonly kind: "emit" }>,
  root: StoredRoot | undefined,
): PreparedEntry {
  const { nowMs: sinceMs, ownWaitMs: waitMs, requestId } = plan;
  const depth = plan.depth + 1;
  const plain: EmitEntry = { kind: "emit", emission, actor, eventType, depth, requestId };
  const entry = root === undefined ? plain : { ...plain, root };
  const waiting = { entry, sinceMs, waitMs, tries: 0 };
  const direct = plan.isDirect ? checkDirect(plan, emission) : undefined;
  if (direct === undefined) return keepEncoded(waiting);
  plan.directStreams.push(emission.key);
  return { ...waiting, direct };
}

/** The checked event if it may be written with its trigger; undefined if not. */
function checkDirect(
  { spec, directChecks }: ReactionPlan,
  emission: Emission,
): ValidEvent | undefined {
  if (directChecks.left === 0 || directChecks.work.left <= 0) return undefined;
  const type = spec.aggregateTypes.get(emission.aggregateType)?.events.get(emission.eventType);
  if (type === undefined || type.reactions !== undefined) return undefined;
  // It would need a delivery to be prepared, a module to be asked or a guard to be judged.
  if (spec.listenersOf(emission.aggregateType, emission.eventType).length > 0) return undefined;
  const { wasmHandlers, guarded } = spec.aggregateTypes.get(emission.aggregateType)!;
  if (wasmHandlers.size > 0 || guarded?.has(emission.eventType)) return undefined;
  directChecks.left--;
  const checked = checkEmission(emission, spec, directChecks.work);
  // An event that does not fit goes through the outbox, which finds that out again and reports
  // it. So does one whose check takes more work than is left.
  const isDirect = checked.ok && checked.event.dataJson.length <= DIRECT_DATA_LENGTH_MAX;
  return isDirect ? checked.event : undefined;
}

/**
 * An upper bound of what it stores, whether as an event or as an outbox entry (not encoded
 * yet).
 */
function directBytes({ entry: { emission }, direct }: PreparedEntry): number {
  const { dataJson, geo } = direct!;
  const keys = 2 * entryKeyBytes(emission.key) + (geo === undefined ? 0 : pointBytes(emission.key));
  return UTF8_BYTES_MAX * dataJson.length + keys + DIRECT_EVENT_BYTES;
}

function entryKeyBytes(stream: StreamKey): number {
  return KEY_FACTOR * (stream.length + ENTRY_KEY_BYTES);
}

/** Cached by spec, because every write needs the event types of its sagas. */
const shownBySpec = new WeakMap<CompiledSpec, Texts>();

/**
 * `<aggregate_type>.<event_type>` of the events shown to sagas; undefined if there are no
 * sagas.
 */
function shownTypes(spec: CompiledSpec): Texts | undefined {
  if (spec.sagas.size === 0) return undefined;
  const known = shownBySpec.get(spec);
  if (known !== undefined) return known;
  const types = [...spec.sagas.values()].flatMap(eventTypesOf);
  const shown = new TextSet(
    types.map(({ aggregateType, eventType }) => `${aggregateType}.${eventType}`),
  );
  shownBySpec.set(spec, shown);
  return shown;
}

function noteFailure(
  plan: ReactionPlan,
  event: StoredEvent,
  { path, message, cause }: ReactionFailure,
): void {
  note(plan, event, "implication_failed", message, { path, ...cause });
}

function noteDepth(plan: ReactionPlan, event: StoredEvent, count: number): void {
  const { implicationDepthMax: depth } = limits;
  const message =
    `Events can imply other events to depth ${depth}; this one would imply ${count} more`;
  note(plan, event, "implication_depth_exceeded", message, { depth });
}

function note(
  plan: ReactionPlan,
  { key, type }: StoredEvent,
  error_type: string,
  text: string,
  more: JsonObject,
): void {
  const errorsMax = plan.root === undefined ? limits.implicationErrorsMax : limits.impliedErrorsMax;
  if (plan.errors.length === errorsMax) {
    plan.errorsLeftOut++;
    return;
  }
  const message = text.slice(0, MESSAGE_CHARACTERS_MAX);
  const context = { operation: "imply", event_key: key, event_type: type, ...more };
  const request_id = plan.requestId;
  plan.errors.push(makeErrorRecord(plan.host, { error_type, message, context, request_id }));
}

/**
 * At most `limits.implicationErrorsMax` of the noted records, or `limits.impliedErrorsMax` for
 * an event of the service itself. If there were more, the last record says how many are left
 * out.
 */
export function errorRecordsOf(
  { host, errors, errorsLeftOut, requestId }: ReactionPlan,
): readonly ErrorRecord[] {
  if (errorsLeftOut === 0) return errors;
  // One record makes room for the summary.
  const left_out = errorsLeftOut + 1;
  const last = makeErrorRecord(host, {
    error_type: "implication_failed",
    message: `${left_out} more failures in this write are not listed`,
    context: { operation: "imply", left_out },
    request_id: requestId,
  });
  return [...errors.slice(0, -1), last];
}

type EmitWaiting = WaitingEntry & { readonly entry: EmitEntry };

/** Returns an entry for the outbox with its encoded bytes, which it keeps instead of its data. */
export function keepEncoded(waiting: EmitWaiting): PreparedEntry {
  const value = encodeEntry(waiting);
  return { ...waiting, entry: leanEntry(waiting.entry, value), value };
}
