/**
 * Parses a piece of pending work from its text, or says why it is not one.
 *
 * Workers will act on whatever passes here, so it must not accept anything that the service
 * itself never stores.
 */

import { Buffer } from "node:buffer";
import { parseReceipt, verifyReceipt } from "../erasure/receipt.ts";
import { TOMBSTONE_ID, TOMBSTONE_STATES } from "../erasure/tombstone.ts";
import { isJsonObject } from "../json.ts";
import { DELIVERY_ID } from "../listener/delivery_id.ts";
import { RETRY_PAUSES_MS, TRY_FAILURES } from "../listener/delivery.ts";
import { isWebhookUrl } from "../listener/definition.ts";
import { limits } from "../limits.ts";
import { isEndState, SAGA_STATES, type SagaInstance } from "../saga/instance.ts";
import { checkKeptSaga } from "../spec/sagas/saga.ts";
import { parseUtcTime } from "../utc_time.ts";
import {
  anyOf,
  countFrom1,
  faultOf,
  hex64,
  listOf,
  objectOf,
  oneOf,
  type Shape,
  shortText,
  streamKeyText,
  text,
  wholeNumber,
} from "./field_checks.ts";
import type {
  MovedDefinition,
  MovedProjection,
  MovedSaga,
  MovedTombstone,
  WorkItem,
  WorkKind,
} from "./work.ts";
import { parseJson } from "../json_text/parse_json.ts";

export type ParsedWork =
  | { readonly ok: true; readonly item: WorkItem }
  | { readonly ok: false; readonly message: string };

const SAGA_ID = /^saga_[0-9a-f]{36}$/;
const TYPE_NAME = /^[a-z][a-z0-9_]{0,63}$/;
const PHASES = ["emit", "compensate"];
const OUTCOMES = [
  "emitted",
  "completed",
  "skipped",
  "failed",
  "compensated",
  "compensation_failed",
];

const party = objectOf({ type: shortText, id: shortText });
const reference = objectOf({ key: streamKeyText, event_type: shortText, stream_id: shortText });
const emissionFields = objectOf({
  key: streamKeyText,
  aggregateType: typeName,
  id: shortText,
  eventType: shortText,
  data: isJsonObject,
});
const storedEvent = objectOf({ key: streamKeyText, type: shortText, data: isJsonObject, metadata });

function typeName(value: unknown): boolean {
  return typeof value === "string" && TYPE_NAME.test(value);
}

function tries(value: unknown): boolean {
  return wholeNumber(value) && (value as number) < limits.reactionTriesMax;
}

function emission(value: unknown): boolean {
  if (!emissionFields(value)) return false;
  const { key, aggregateType, id } = value as Record<string, string>;
  return key === `${aggregateType}:${id}`;
}

function metadata(value: unknown): boolean {
  return isJsonObject(value) && wholeNumber(value.timestamp) && isJsonObject(value.actor);
}

function sagaId(value: unknown): boolean {
  return typeof value === "string" && SAGA_ID.test(value);
}

function eventTypes(value: unknown): boolean {
  return listOf(shortText)(value) && (value as unknown[]).length > 0;
}

/** The root event whose budget the work draws on. */
const root = objectOf({
  "of?": shortText,
  "first?": countFrom1,
  "timers?": listOf(shortText),
  "isRecurring?": (value) => value === true,
});

const entry = anyOf([
  {
    kind: oneOf(["emit"]),
    emission,
    actor: party,
    eventType: shortText,
    depth: countFrom1,
    requestId: shortText,
    "root?": root,
  },
  { kind: oneOf(["sagas"]), eventType: shortText, requestId: shortText, "root?": root },
]);

const waiting = anyOf([
  { kind: oneOf(["event"]), step: wholeNumber, key: streamKeyText, eventTypes, dueMs: wholeNumber },
  {
    kind: oneOf(["pause"]),
    step: wholeNumber,
    phase: oneOf(PHASES),
    tries: wholeNumber,
    dueMs: wholeNumber,
  },
]);

const instance = objectOf({
  id: sagaId,
  name: typeName,
  definition: hex64,
  state: oneOf(SAGA_STATES),
  startedAt: wholeNumber,
  updatedAt: wholeNumber,
  trigger: reference,
  "triggerEvent?": storedEvent,
  completed: listOf(objectOf({ step: wholeNumber, event: storedEvent })),
  "waiting?": waiting,
  history: listOf(objectOf({
    at: wholeNumber,
    step: text,
    outcome: oneOf(OUTCOMES),
    "event?": reference,
    "reason?": text,
  })),
});

function utcTime(value: unknown): boolean {
  return typeof value === "string" && parseUtcTime(value) !== undefined;
}

const tryLine = objectOf({
  at: utcTime,
  "status?": wholeNumber,
  "failure?": oneOf(TRY_FAILURES),
  duration_ms: wholeNumber,
});

const delivery = objectOf({
  id: (value) => typeof value === "string" && DELIVERY_ID.test(value),
  sinceMs: wholeNumber,
  dueMs: wholeNumber,
  url: (value) => typeof value === "string" && isWebhookUrl(value),
  tries: (value) => listOf(tryLine)(value) && (value as unknown[]).length <= RETRY_PAUSES_MS.length,
  triesBefore: wholeNumber,
});

const SHAPES: Readonly<Record<WorkKind, Shape>> = {
  outbox_entry: {
    place: objectOf({ stream: streamKeyText, index: wholeNumber, number: wholeNumber }),
    entry,
    sinceMs: wholeNumber,
    waitMs: wholeNumber,
    tries,
  },
  scheduled_event: {
    id: shortText,
    emission,
    cancelOn: listOf(objectOf({ key: streamKeyText, eventType: shortText })),
    createdMs: wholeNumber,
    fireAtMs: wholeNumber,
    by: objectOf({ key: streamKeyText, eventType: shortText, streamId: shortText }),
    requestId: shortText,
    tries,
    timerMs: wholeNumber,
    "root?": root,
  },
  delivery: {
    listener: typeName,
    stream: streamKeyText,
    index: wholeNumber,
    delivery,
  },
  saga: {
    instance,
    "awaitsFrom?": wholeNumber,
    "timerMs?": wholeNumber,
    "timerTries?": tries,
    depth: countFrom1,
    requestId: shortText,
    "root?": root,
  },
  tombstone: {
    id: (value) => typeof value === "string" && TOMBSTONE_ID.test(value),
    key: streamKeyText,
    reason: shortText,
    "legal_basis?": shortText,
    grace_hours: wholeNumber,
    state: oneOf(TOMBSTONE_STATES),
    requested_at: utcTime,
    requested_by: shortText,
    execute_at: utcTime,
    executeAtMs: wholeNumber,
    "cancelled_at?": utcTime,
    "executed_at?": utcTime,
    "completed_at?": utcTime,
    "result?": objectOf({
      generation: countFrom1,
      event_count: countFrom1,
      erased_count: wholeNumber,
      previous_tip: hex64,
      tip: hex64,
    }),
    "receipt?": isJsonObject,
  },
  saga_definition: {
    hash: hex64,
    kept: objectOf({ name: typeName, saga: isJsonObject, singletons: listOf(shortText) }),
  },
  projection: {
    name: typeName,
    deployedAt: (value) => typeof value === "string" && parseUtcTime(value) !== undefined,
    document: isJsonObject,
  },
};

/** Strict in the same way as records. */
export function parseWork(kind: WorkKind, json: string): ParsedWork {
  let moved: unknown;
  try {
    moved = parseJson(json);
  } catch {
    return refuse("is not JSON");
  }
  if (!isJsonObject(moved)) return refuse("is not a JSON object");
  const fault = faultOf(moved, SHAPES[kind]) ?? explainWhole(kind, moved);
  if (fault !== undefined) return refuse(fault);
  return { ok: true, item: { kind, moved } as unknown as WorkItem };

  function refuse(message: string): ParsedWork {
    return { ok: false, message: `work "${kind}": ${message}` };
  }
}

/** Checks what no field shows on its own. */
function explainWhole(kind: WorkKind, moved: unknown): string | undefined {
  if (kind === "saga") return explainSaga(moved as MovedSaga);
  if (kind === "saga_definition") return explainDefinition(moved as MovedDefinition);
  if (kind === "projection") return explainProjection(moved as unknown as MovedProjection);
  if (kind === "tombstone") return explainTombstone(moved as MovedTombstone);
  return undefined;
}

/** A running saga waits and has a timer; a finished one has neither. */
function explainSaga({ instance, awaitsFrom, timerMs, timerTries }: MovedSaga): string | undefined {
  const { state, waiting, triggerEvent } = instance;
  const isOver = isEndState(state);
  const parts = [waiting, triggerEvent, timerMs];
  if (parts.some((part) => (part === undefined) !== isOver)) {
    return `a saga that is ${state} ${isOver ? "waits for nothing" : "waits, and has a timer"}`;
  }
  if ((awaitsFrom !== undefined) !== (waiting?.kind === "event")) {
    return '"awaitsFrom" stands exactly where an event is awaited';
  }
  if (isOver && timerTries !== undefined) return `a saga that is ${state} has no timer`;
  return undefined;
}

function explainDefinition({ hash, kept }: MovedDefinition): string | undefined {
  const compiled = checkKeptSaga(kept);
  if (compiled === undefined) return `this build cannot run the definition of '${kept.name}'`;
  return compiled.hash === hash ? undefined : "the definition does not have that hash";
}

/** Whether it fits the spec is found out when it is built, as after any deploy. */
function explainProjection({ name, document }: MovedProjection): string | undefined {
  if (document.name !== name) return "the projection's document has another name";
  const bytes = Buffer.byteLength(JSON.stringify(document));
  if (bytes <= limits.projectionBytesMax) return undefined;
  return `the projection's document has more than ${limits.projectionBytesMax} bytes`;
}

/** Each state has exactly the fields that its history leaves behind. */
function explainTombstone(moved: MovedTombstone): string | undefined {
  const { id, key, state, result, receipt } = moved;
  if (Date.parse(moved.execute_at) !== moved.executeAtMs) return "it is due at two times";
  const isErased = state === "running" || state === "completed";
  const parts = [
    [moved.cancelled_at, state === "cancelled"],
    [moved.executed_at, isErased],
    [result, isErased],
    [moved.completed_at, state === "completed"],
    [receipt, state === "completed"],
  ] as const;
  if (parts.some(([part, isThere]) => (part !== undefined) !== isThere)) {
    return `one that is ${state} has not just the fields of that`;
  }
  if (receipt === undefined) return undefined;
  const parsed = parseReceipt(receipt);
  const isOwn = typeof parsed !== "string" && verifyReceipt(parsed) &&
    parsed.tombstone_id === id && parsed.key === key && parsed.tip === result?.tip;
  return isOwn ? undefined : "its receipt is not signed, or is of another one";
}

/** The definition that a saga still needs; undefined for a finished saga. */
export function neededDefinition({ state, definition }: SagaInstance): string | undefined {
  return isEndState(state) ? undefined : definition;
}
