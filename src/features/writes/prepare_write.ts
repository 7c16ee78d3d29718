/**
 * Makes the bytes of every event and of everything it sets off, once, before the transaction.
 * Reruns of the transaction only place these bytes. Serves clients' writes and those of the
 * service itself.
 */

import {
  type EncodedEvent,
  encodeEvent,
  encodeMetadata,
  type ImpliedBy,
  orderMetadata,
  type PartyReference,
  type SagaStamp,
  type ScheduledStamp,
  type StoredMetadata,
} from "../../domain/event.ts";
import { limits } from "../../domain/limits.ts";
import type { Emission } from "../../domain/reaction/action.ts";
import { type ModuleAnswers, NO_ANSWERS } from "../../domain/reaction/module_question.ts";
import type { Root } from "../../domain/reaction/root.ts";
import { checkEmission } from "../../domain/write/check_emission.ts";
import type { Steps } from "../../domain/fairness/pieces.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { ValidTarget, ValidWrite } from "../../domain/write/validate_write.ts";
import type { WriteRequest } from "../../domain/write/write.ts";
import type { Host } from "../../host.ts";
import { pointBytes } from "../../store/streams/geo_index.ts";
import { EVENT_OVERHEAD_BYTES } from "../../store/streams/stream_head.ts";
import type { Precondition } from "../../domain/write/precondition.ts";
import type {
  Cause,
  Conditions,
  PreparedDelivery,
  PreparedTarget,
  PreparedWrite,
} from "./prepared_write.ts";
import {
  errorRecordsOf,
  openReactionPlan,
  prepareReactions,
  type ReactionPlan,
  requireAnswers,
} from "./prepare_reactions.ts";
import { DELIVERY_ID_RANDOM_BYTES, deliveryId } from "../../domain/listener/delivery_id.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { encodeDelivery } from "../../store/listeners/deliveries.ts";

const MS_PER_SECOND = 1000;

/** When a write happens, and how long other processes leave its reactions to this one. */
export interface WriteMoment {
  readonly nowMs: number;
  readonly ownWaitMs: number;
}

export interface ClientMoment extends WriteMoment {
  /** Whether implied events may be written together with the write. See `direct_events.ts`. */
  readonly isDirect: boolean;
}

/**
 * Prepares a client's write. Refuses with 413 if the write stores too much, reactions included,
 * or sets off too many events. It may yield before each event.
 * @throws {ModulesToAsk} if modules have to be asked what the write sets off.
 */
export function* prepareWriteSteps(
  host: Host,
  spec: CompiledSpec,
  request: WriteRequest,
  write: ValidWrite,
  { nowMs, ownWaitMs, isDirect }: ClientMoment,
  answers: ModuleAnswers = NO_ANSWERS,
): Steps<Outcome<PreparedWrite>> {
  const { form, requestId, idempotency } = request;
  const { actor, target, timestamp = Math.floor(nowMs / MS_PER_SECOND) } = write.metadata;
  const metadata = { actor, target, timestamp, idempotency_key: idempotency?.key };
  let eventCount = 0;
  for (const { events } of write.targets) eventCount += events.length;
  const isMany = eventCount > 1;
  const root = undefined;
  const shared = { host, spec, nowMs, ownWaitMs, requestId, depth: 0, isDirect, root, answers };
  const plan = spec.setsOff
    ? openReactionPlan({ ...shared, isRootSpent: false, isMany })
    : undefined;
  const targets: PreparedTarget[] = [];
  let bytes = 0;
  for (const valid of write.targets) {
    const target = yield* prepareTarget(spec, plan, valid, metadata);
    targets.push(target);
    bytes += target.bytes;
  }
  if (plan !== undefined) requireAnswers(plan);
  const impliedCount = plan?.actions ?? 0;
  if (plan !== undefined) bytes += plan.bytes;
  const exceeded = exceededLimit(bytes, impliedCount);
  if (exceeded !== undefined) return refuse({ kind: "payload_too_large", ...exceeded });
  return accept({
    form,
    targets,
    bytes,
    timestamp,
    nowMs,
    requestId,
    idempotency,
    impliedCount,
    errors: plan === undefined ? [] : errorRecordsOf(plan),
    ownWaitMs,
    kept: plan?.kept,
    allocation: request.allocation,
    directStreams: plan?.directStreams.length ? plan.directStreams : undefined,
    conditions: conditionsOf(spec, targets, write.preconditions),
  });
}

/** What has to hold when the events are written; undefined if nothing has to. */
function conditionsOf(
  spec: CompiledSpec,
  targets: readonly PreparedTarget[],
  preconditions: readonly Precondition[] = [],
): Conditions | undefined {
  let isGuarded = false;
  for (const { aggregateType, events } of targets) {
    const { guarded } = spec.aggregateTypes.get(aggregateType)!;
    if (guarded === undefined) continue;
    for (const { type } of events) if (guarded.has(type)) isGuarded = true;
  }
  if (!isGuarded && preconditions.length === 0) return undefined;
  return { preconditions, isGuarded, spec };
}

/** What exceeds a limit about a write, and the limit; undefined if nothing does. */
function exceededLimit(bytes: number, actions: number) {
  const { writeStoredBytesMax, implicationActionsMax } = limits;
  if (actions > implicationActionsMax) {
    const limit = implicationActionsMax;
    return { message: `The events of one write may imply at most ${limit} events`, limit };
  }
  if (bytes <= writeStoredBytesMax) return undefined;
  const limit = writeStoredBytesMax;
  const message = `The events of one write may store at most ${limit} bytes; these need ${bytes}`;
  return { message, limit };
}

/**
 * Only the first event of a write with an expected length stores `previous_length`. See
 * docs/reference/writing.md.
 */
function* prepareTarget(
  spec: CompiledSpec,
  plan: ReactionPlan | undefined,
  target: ValidTarget,
  metadata: StoredMetadata,
): Steps<PreparedTarget> {
  const { key, aggregateType, id, expected } = target;
  const plain = encodeMetadata(metadata);
  const guarded = expected === "any" ? metadata : { ...metadata, previous_length: expected };
  const first = guarded === metadata ? plain : encodeMetadata(guarded);
  const compiled = spec.aggregateTypes.get(aggregateType)!;
  let bytes = 0;
  let isPlaced = false;
  const events = new Array<EncodedEvent>(target.events.length);
  for (let index = 0; index < events.length; index++) {
    if (index > 0) yield;
    const { type, dataJson, data, geo } = target.events[index]!;
    const shared = index === 0 ? first : plain;
    const own = geo && encodeMetadata({ ...(index === 0 ? guarded : metadata), geo });
    const decoded = data !== undefined && compiled.guarded?.has(type)
      ? { key, type, data, metadata: orderMetadata({ ...(index === 0 ? guarded : metadata), geo }) }
      : undefined;
    const metadataJson = own ?? shared;
    const event = encodeEvent({ key, type, dataJson, metadataJson, geo, decoded });
    bytes += event.bytes + EVENT_OVERHEAD_BYTES;
    if (geo !== undefined) isPlaced = true;
    events[index] = event;
  }
  if (isPlaced) bytes += pointBytes(key);
  const reactions = plan && (yield* prepareReactions(plan, aggregateType, key, events));
  const deliveries = plan && (yield* prepareDeliveries(plan, aggregateType, key, events));
  const prepared = { key, aggregateType, id, expected, events, bytes, reactions, deliveries };
  return compiled.wasmHandlers.size === 0 ? prepared : { ...prepared, judgedAs: compiled };
}

/** Tells readers where an event of the service itself comes from. */
export interface EmissionStamp {
  readonly actor: PartyReference;
  readonly implied_by?: ImpliedBy;
  readonly scheduled?: ScheduledStamp;
  readonly saga?: SagaStamp;
}

/** An event that the service itself writes, for `appendWrites`. */
export interface EmissionRequest {
  readonly emission: Emission;
  readonly stamp: EmissionStamp;
  /** Id of the client's request that started the chain. */
  readonly requestId: string;
  readonly cause?: Cause;
  /** The root whose budget it uses. */
  readonly root: Root;
  /** Whether that budget is known to be spent. */
  readonly isRootSpent?: boolean;
}

export type PreparedEmission =
  | { readonly ok: true; readonly write: PreparedWrite }
  /** It does not fit `spec`, so it can never be written under it, whatever else is tried. */
  | { readonly ok: false; readonly message: string };

/**
 * Checks an event against the current spec and makes its bytes and its own reactions, as for a
 * client's write. It happens now and expects no length. It may yield while it makes many reactions.
 * @throws {ModulesToAsk} like {@link prepareWriteSteps}.
 */
export function* prepareEmissionSteps(
  host: Host,
  spec: CompiledSpec,
  { emission, stamp, requestId, cause, root, isRootSpent = false }: EmissionRequest,
  { nowMs, ownWaitMs }: WriteMoment,
  answers: ModuleAnswers = NO_ANSWERS,
): Steps<PreparedEmission> {
  const checked = checkEmission(emission, spec);
  if (!checked.ok) return checked;
  const timestamp = Math.floor(nowMs / MS_PER_SECOND);
  const { key, aggregateType, id } = emission;
  const depth = stamp.implied_by?.depth ?? 0;
  const plan = openReactionPlan({
    host,
    spec,
    nowMs,
    ownWaitMs,
    requestId,
    depth,
    isDirect: false,
    root,
    isRootSpent,
    isMany: false,
    answers,
  });
  const valid: ValidTarget = { key, aggregateType, id, expected: "any", events: [checked.event] };
  const target = yield* prepareTarget(spec, plan, valid, { ...stamp, timestamp });
  requireAnswers(plan);
  const impliedCount = plan.actions;
  const bytes = target.bytes + plan.bytes;
  const exceeded = exceededLimit(bytes, impliedCount);
  if (exceeded !== undefined) return { ok: false, message: exceeded.message };
  const write: PreparedWrite = {
    form: "single",
    targets: [target],
    bytes,
    timestamp,
    nowMs,
    requestId,
    impliedCount,
    errors: errorRecordsOf(plan),
    ownWaitMs,
    cause,
    root,
    kept: plan.kept,
    conditions: conditionsOf(spec, [target]),
  };
  return { ok: true, write };
}

/** Key and mark besides the stream they name. Each counts as written and as a possible conflict. */
const KEY_BYTES = 64;
const KEY_FACTOR = 4;

/** The deliveries of `events` of one stream; undefined if no listener hears them. */
export function* prepareDeliveries(
  plan: ReactionPlan,
  aggregateType: string,
  key: StreamKey,
  events: readonly EncodedEvent[],
): Steps<readonly PreparedDelivery[] | undefined> {
  const { spec, host, nowMs } = plan;
  if (spec.listeners.size === 0) return undefined;
  let prepared: PreparedDelivery[] | undefined;
  for (const [offset, { type }] of events.entries()) {
    // The write will be refused, so further deliveries do not matter.
    if (plan.bytes > limits.writeStoredBytesMax) break;
    if (offset > 0) yield;
    for (const listener of spec.listenersOf(aggregateType, type)) {
      prepared ??= [];
      const id = deliveryId(nowMs, prepared.length, host.randomBytes(DELIVERY_ID_RANDOM_BYTES));
      const { url } = spec.listeners.get(listener)!;
      const fresh = { id, sinceMs: nowMs, dueMs: 0, url, tries: [], triesBefore: 0 };
      const cause = host.traceparent?.();
      const delivery = cause === undefined ? fresh : { ...fresh, cause };
      const value = encodeDelivery(delivery);
      prepared.push({ offset, listener, value });
      plan.bytes += value.length + KEY_FACTOR * (key.length + listener.length + KEY_BYTES);
    }
  }
  return prepared;
}
