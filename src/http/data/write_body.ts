/**
 * Decodes the three forms of a write: single, batch and atomic. It checks shapes only.
 *
 * Types, ids, metadata, data and guards are passed on as sent, because only the spec can judge
 * them. See docs/reference/writing.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type FaultPlace, type Outcome, refuse } from "../../domain/refusal.ts";
import { findUnknownKey } from "../decode/body.ts";
import { hintForBodyField, hintForEventField, hintForTargetField } from "./write_hints.ts";
import type { RequestedEvent, RequestedTarget } from "../../domain/write/write.ts";

/** The write in a body; the caller adds the idempotency claim and the request id. */
export interface DecodedWrite {
  readonly targets: readonly RequestedTarget[];
  readonly metadata: unknown;
}

const SINGLE_KEYS = new Set(["data", "metadata"]);
const BATCH_KEYS = new Set(["events", "metadata"]);
const ATOMIC_KEYS = new Set(["targets", "metadata"]);
const EVENT_KEYS = new Set(["type", "data"]);
const TARGET_KEYS = new Set(["aggregate_type", "id", "events", "previous_length"]);

/** `{data, metadata}`. */
export function decodeSingle(params: readonly string[], body: JsonObject): Outcome<DecodedWrite> {
  const [aggregateType = "", id = "", type = ""] = params;
  const unknown = findUnknownKey(body, SINGLE_KEYS);
  if (unknown !== undefined) {
    return badRequest(`Unknown field: ${unknown}`, unknown, hintForBodyField("single", unknown));
  }
  const events = [{ type, data: body.data }];
  return accept({ targets: [{ aggregateType, id, events }], metadata: body.metadata });
}

/** `{events: [{type, data?}], metadata}`. */
export function decodeBatch(params: readonly string[], body: JsonObject): Outcome<DecodedWrite> {
  const [aggregateType = "", id = ""] = params;
  const unknown = findUnknownKey(body, BATCH_KEYS);
  if (unknown !== undefined) {
    return badRequest(`Unknown field: ${unknown}`, unknown, hintForBodyField("batch", unknown));
  }
  const sent = body.events;
  if (sent === undefined) return badRequest("events is required", "events");
  if (!Array.isArray(sent)) return badRequest("events must be an array", "events");
  if (sent.length === 0) return badRequest("events must hold at least one event", "events");
  if (sent.length > limits.batchEventsMax) {
    return writeInvalid(`events must hold at most ${limits.batchEventsMax} events`, "events");
  }
  const fault = findEventFault(sent, "events");
  if (fault !== undefined) {
    return badRequest(fault.message, fault.path, fault.hint, { eventIndex: fault.index });
  }
  const events = toEvents(sent);
  return accept({ targets: [{ aggregateType, id, events }], metadata: body.metadata });
}

/** `{targets: [{aggregate_type, id, events, previous_length?}], metadata}`. */
export function decodeAtomic(body: JsonObject): Outcome<DecodedWrite> {
  const unknown = findUnknownKey(body, ATOMIC_KEYS);
  if (unknown !== undefined) {
    const hint = hintForBodyField("atomic", unknown);
    return writeInvalid(`Unknown field: ${unknown}`, unknown, hint);
  }
  const sent = body.targets;
  if (!Array.isArray(sent)) return writeInvalid("targets must be an array", "targets");
  if (sent.length < 1 || sent.length > limits.atomicTargetsMax) {
    const message = `targets must hold 1 to ${limits.atomicTargetsMax} targets`;
    return writeInvalid(message, "targets");
  }
  const targets: RequestedTarget[] = [];
  let total = 0;
  for (const [index, value] of sent.entries()) {
    const target = decodeTarget(value, index);
    if (!target.ok) return target;
    total += target.value.events.length;
    targets.push(target.value);
  }
  if (total > limits.batchEventsMax) {
    const message = `targets must hold at most ${limits.batchEventsMax} events in all`;
    return writeInvalid(message, "targets");
  }
  return accept({ targets, metadata: body.metadata });
}

function decodeTarget(target: JsonValue, targetIndex: number): Outcome<RequestedTarget> {
  const path = `targets.${targetIndex}`;
  const invalid = (message: string, field: string, hint?: string) =>
    writeInvalid(message, field === "" ? path : `${path}.${field}`, hint, { targetIndex });
  if (!isJsonObject(target)) return invalid("A target must be an object", "");
  const unknown = findUnknownKey(target, TARGET_KEYS);
  if (unknown !== undefined) {
    const hint = hintForTargetField(unknown);
    return invalid(`Unknown field in a target: ${unknown}`, unknown, hint);
  }
  const { aggregate_type: aggregateType, id, events, previous_length: previousLength } = target;
  if (typeof aggregateType !== "string") {
    return invalid("aggregate_type must be a string", "aggregate_type");
  }
  if (typeof id !== "string") return invalid("id must be a string", "id");
  if (!Array.isArray(events) || events.length === 0) {
    return invalid("events must be an array of at least one event", "events");
  }
  const fault = findEventFault(events, `${path}.events`);
  if (fault !== undefined) {
    const place = { targetIndex, eventIndex: fault.index };
    return writeInvalid(fault.message, fault.path, fault.hint, place);
  }
  return accept({ aggregateType, id, events: toEvents(events), previousLength });
}

interface EventFault {
  readonly message: string;
  readonly path: string;
  readonly index: number;
  readonly hint?: string;
}

function findEventFault(events: readonly JsonValue[], path: string): EventFault | undefined {
  for (const [index, event] of events.entries()) {
    const here = `${path}.${index}`;
    if (!isJsonObject(event)) {
      return { message: "An event must be an object {type, data}", path: here, index };
    }
    if (typeof event.type !== "string") {
      const hint = "event_type" in event ? hintForEventField("event_type") : undefined;
      return { message: "type must be a string", path: `${here}.type`, index, hint };
    }
    const unknown = findUnknownKey(event, EVENT_KEYS);
    if (unknown !== undefined) {
      return {
        message: `Unknown field in an event: ${unknown}`,
        path: `${here}.${unknown}`,
        index,
        hint: hintForEventField(unknown),
      };
    }
  }
  return undefined;
}

/** Call only after {@link findEventFault} has found no fault. */
function toEvents(events: readonly JsonValue[]): RequestedEvent[] {
  return (events as readonly JsonObject[]).map(({ type, data }) => ({
    type: type as string,
    data,
  }));
}

function badRequest(message: string, path: string, hint?: string, place: FaultPlace = {}) {
  return refuse({ kind: "bad_request", message, path, hint, ...place });
}

function writeInvalid(message: string, path: string, hint?: string, place: FaultPlace = {}) {
  return refuse({ kind: "write_invalid", message, path, hint, ...place });
}
