/**
 * Every check of a write that needs only the spec, in a fixed order: types, ids, metadata,
 * data.
 *
 * Single, batch and atomic writes share it. It is pure; the optimistic concurrency check
 * follows inside the transaction.
 */

import { Buffer } from "node:buffer";
import { type Budget, newBudget } from "../budget.ts";
import type { GeoStamp } from "../geo/point.ts";
import { explainIdentifier, parseIdentifier, type StreamKey, streamKey } from "../identifier.ts";
import { isJsonObject, isSurelyLonger, type JsonObject } from "../json.ts";
import { nameHint } from "../nearest_name.ts";
import { limits } from "../limits.ts";
import { type CheckedMetadata, checkMetadata, isCount } from "./metadata.ts";
import { runAtOnce, type Steps } from "../fairness/pieces.ts";
import { accept, type FaultPlace, type Outcome, refuse } from "../refusal.ts";
import {
  type CompiledAggregateType,
  type CompiledEventType,
  type CompiledSpec,
  refuseAggregateType,
} from "../spec/compiled.ts";
import type { Environment } from "../tenant.ts";
import { checkPreconditionSteps, type Precondition } from "./precondition.ts";
import type { RequestedEvent, RequestedTarget, WriteRequest } from "./write.ts";

/** What a character of a text takes at most. */
const UTF8_BYTES_MAX = 3;

export interface ValidTarget {
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly expected: ExpectedLength;
  readonly events: readonly ValidEvent[];
}

export interface ValidEvent {
  readonly type: string;
  readonly dataJson: string;
  /** What `dataJson` was made of; absent if it was not a client who sent it. */
  readonly data?: JsonObject;
  /** The point in its data, if its type declares one. */
  readonly geo?: GeoStamp;
}

export interface ValidWrite {
  readonly targets: readonly ValidTarget[];
  readonly metadata: CheckedMetadata;
  /** Absent if there are none. */
  readonly preconditions?: readonly Precondition[];
}

/**
 * Checks all targets before anything is written; the first fault is the answer.
 *
 * This runs for every event of every write and import, so it leaves little to the garbage
 * collector. Loops count by hand, arrays get their length up front (a first `push` reserves 17
 * elements), and values that only a fault needs are built only for a fault.
 */
export function validateWrite(
  request: WriteRequest,
  spec: CompiledSpec,
  environment: Environment,
): Outcome<ValidWrite> {
  return runAtOnce(validateWriteSteps(request, spec, environment));
}

/** The same for writes of many events: yields before the later events of each target. */
export function* validateWriteSteps(
  request: WriteRequest,
  spec: CompiledSpec,
  environment: Environment,
): Steps<Outcome<ValidWrite>> {
  const types = checkTypes(request, spec);
  if (!types.ok) return types;
  const streams = checkStreams(request, spec);
  if (!streams.ok) return streams;
  const metadata = checkMetadata(request.metadata, spec, environment);
  if (!metadata.ok) return metadata;
  const guards = checkGuards(request, types.value, metadata.value);
  if (!guards.ok) return guards;
  const targets = new Array<ValidTarget>(request.targets.length);
  const work = newBudget(limits.validationUnitsMax);
  for (let index = 0; index < request.targets.length; index++) {
    const { events: sent } = request.targets[index]!;
    const events = yield* checkData({
      form: request.form,
      events: sent,
      types: types.value[index]!,
      targetIndex: index,
    }, work);
    if (!events.ok) return events;
    const { key, aggregateType, id } = streams.value[index]!;
    const expected = guards.value[index]!;
    targets[index] = { key, aggregateType, id, expected, events: events.value };
  }
  if (request.preconditions === undefined) return accept({ targets, metadata: metadata.value });
  const preconditions = yield* checkPreconditionSteps(request.preconditions, spec);
  if (!preconditions.ok) return preconditions;
  return accept({ targets, metadata: metadata.value, preconditions: preconditions.value });
}

/** Where a fault is: batches name the event, atomic writes name the target too. */
function place(form: WriteRequest["form"], target: number, event?: number): FaultPlace {
  if (form === "single") return {};
  return form === "batch" ? { eventIndex: event } : { targetIndex: target, eventIndex: event };
}

type EventTypes = readonly CompiledEventType[];

function checkTypes(request: WriteRequest, spec: CompiledSpec): Outcome<EventTypes[]> {
  const found = new Array<EventTypes>(request.targets.length);
  for (let index = 0; index < request.targets.length; index++) {
    const target = request.targets[index]!;
    const aggregateType = spec.aggregateTypes.get(target.aggregateType);
    if (aggregateType === undefined) {
      return refuseAggregateType(spec, target.aggregateType, place(request.form, index));
    }
    const types = checkEventTypes(request.form, target, aggregateType, index);
    if (!types.ok) return types;
    found[index] = types.value;
  }
  return accept(found);
}

function checkEventTypes(
  form: WriteRequest["form"],
  target: RequestedTarget,
  aggregateType: CompiledAggregateType,
  targetIndex: number,
): Outcome<EventTypes> {
  const types = new Array<CompiledEventType>(target.events.length);
  for (let index = 0; index < target.events.length; index++) {
    const eventType = target.events[index]!.type;
    if (eventType.startsWith("_")) {
      return refuse({ kind: "event_type_reserved", ...place(form, targetIndex, index) });
    }
    const type = aggregateType.events.get(eventType);
    if (type === undefined) {
      return refuse({
        kind: "event_type_unknown",
        aggregateType: target.aggregateType,
        eventType,
        ...place(form, targetIndex, index),
        hint: nameHint(eventType, aggregateType.events.keys()),
      });
    }
    if (form === "atomic" && type.hasImplications) {
      return refuse({ kind: "implications_in_multi_write", targetIndex });
    }
    types[index] = type;
  }
  return accept(types);
}

type Stream = Pick<ValidTarget, "key" | "aggregateType" | "id">;

function checkStreams(request: WriteRequest, spec: CompiledSpec): Outcome<Stream[]> {
  const streams = new Array<Stream>(request.targets.length);
  for (let index = 0; index < request.targets.length; index++) {
    const { aggregateType, id } = request.targets[index]!;
    const identifier = parseIdentifier(id, spec.singletons);
    if (identifier === undefined) {
      const message = explainIdentifier(id);
      const where = place(request.form, index);
      return refuse({ kind: "identifier_invalid", path: "key", message, ...where });
    }
    const key = streamKey(aggregateType, identifier.value);
    if (streams.some((one) => one.key === key)) {
      const message = `The aggregate '${key}' appears twice; put its events into one target`;
      const where = place(request.form, index);
      return refuse({ kind: "write_invalid", path: `targets.${index}`, message, ...where });
    }
    streams[index] = { key, aggregateType, id: identifier.value };
  }
  return accept(streams);
}

function checkGuards(
  request: WriteRequest,
  types: readonly EventTypes[],
  metadata: CheckedMetadata,
): Outcome<ExpectedLength[]> {
  const { previousLength, skipOcc } = metadata;
  if (request.form === "atomic" && previousLength !== undefined) {
    const path = "metadata.previous_length";
    const message = `${path} guards one aggregate; set previous_length on each target instead`;
    return refuse({ kind: "metadata_invalid", path, message });
  }
  if (skipOcc) {
    const strict = types.flat().find((type) => !type.allowSkipOcc);
    if (strict !== undefined) {
      const path = "metadata.skip_occ";
      const message = `Event type '${strict.name}' does not declare allow_skip_occ: true`;
      return refuse({ kind: "metadata_invalid", path, message });
    }
  }
  const expected = new Array<ExpectedLength>(request.targets.length);
  for (let targetIndex = 0; targetIndex < request.targets.length; targetIndex++) {
    const target = request.targets[targetIndex]!;
    const guard = request.form === "atomic" ? target.previousLength : previousLength;
    if (guard !== undefined && !isCount(guard)) {
      const path = `targets.${targetIndex}.previous_length`;
      const message = "previous_length must be a non-negative integer";
      return refuse({ kind: "write_invalid", path, message, targetIndex });
    }
    if (guard !== undefined && skipOcc) {
      const path = "metadata.skip_occ";
      const message = "metadata.skip_occ cannot be combined with a target's previous_length";
      return refuse({ kind: "metadata_invalid", path, message, targetIndex });
    }
    expected[targetIndex] = guard ?? "any";
  }
  return accept(expected);
}

interface CheckedTarget {
  readonly form: WriteRequest["form"];
  readonly events: readonly RequestedEvent[];
  readonly types: EventTypes;
  readonly targetIndex: number;
}

function* checkData(
  { form, events, types, targetIndex }: CheckedTarget,
  work: Budget,
): Steps<Outcome<readonly ValidEvent[]>> {
  const valid = new Array<ValidEvent>(events.length);
  for (let index = 0; index < events.length; index++) {
    if (index > 0) yield;
    const { type, data: sent } = events[index]!;
    // Only single writes must spell out their data.
    const data = sent === undefined && form !== "single" ? {} : sent;
    if (!isJsonObject(data)) {
      const message = data === undefined ? "data is required" : "data must be an object";
      const where = place(form, targetIndex, index);
      if (form !== "atomic") {
        return refuse({ kind: "bad_request", message, path: "data", ...where });
      }
      const path = `targets.${targetIndex}.events.${index}.data`;
      return refuse({ kind: "write_invalid", message, path, ...where });
    }
    const limit = limits.eventDataBytesMax;
    const dataJson = isSurelyLonger(data, limit) ? undefined : JSON.stringify(data);
    if (dataJson === undefined || isBeyond(dataJson, limit)) {
      const message = `Event data exceeds ${limit} bytes of JSON`;
      const where = place(form, targetIndex, index);
      return refuse({ kind: "payload_too_large", message, limit, path: "data", ...where });
    }
    work.left += limits.validationUnitsPerByte * dataJson.length;
    const { validateData, locate } = types[index]!;
    const faults = validateData(data, work);
    if (faults.length > 0) {
      const where = place(form, targetIndex, index);
      return refuse({ kind: "schema_validation", faults, ...where });
    }
    const located = locate?.(data);
    if (located === undefined) valid[index] = { type, dataJson, data };
    else if (located.ok) valid[index] = { type, dataJson, data, geo: located.geo };
    else {
      const where = place(form, targetIndex, index);
      return refuse({ kind: "schema_validation", faults: [located.fault], ...where });
    }
  }
  return accept(valid);
}

function isBeyond(text: string, bytesMax: number): boolean {
  return text.length * UTF8_BYTES_MAX > bytesMax && Buffer.byteLength(text) > bytesMax;
}

/** The stream length that the writer expects. `"any"` never conflicts; it is not the same as 0. */
export type ExpectedLength = number | "any";

/** True when a stream of `length` events may be appended to. */
export function meetsExpectedLength(length: number, expected: ExpectedLength): boolean {
  return expected === "any" || expected === length;
}
