/**
 * Erasures in a trace: requested, cancelled, executed in the background, each with its receipt.
 * Also what remains of the stream and its bundles, and what may be written to it afterwards.
 */

import { anchorNow, attestation, placeFields } from "./audit_operations.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Operation, RequestOperation } from "./operation.ts";
import { asOperator } from "./operator_operations.ts";
import {
  pickPlace,
  pickStream,
  type Place,
  request,
  sentTo,
  type Stream,
  streamOf,
  type TraceModel,
} from "./trace_model.ts";

const PATH = "/_admin/tombstones";
const MS_PER_HOUR = 3_600_000;
const METADATA = { actor: { type: "user", id: "global" } };

interface Erasure {
  readonly model: TraceModel;
  readonly place: Place;
  readonly stream: Stream;
  /** The name that holds its id. */
  readonly name: string;
}

function newErasure(model: TraceModel, place: Place, stream: Stream): Erasure {
  return { model, place, stream, name: `tombstone_${model.erasures++}` };
}

function ask(erasure: Erasure, fields: JsonObject = {}): Operation {
  const { model, place, stream, name } = erasure;
  const key = `${stream.type}:${stream.id}`;
  const json = { key, reason: `Asked for: ${name}`, ...placeFields(place), ...fields };
  const more: Partial<RequestOperation> = { save: { [name]: "tombstone.id" } };
  return asOperator(model, "request_erasure", { method: "POST", path: PATH, json }, more);
}

function onErasure({ model, place, name }: Erasure, operation: string, method: string): Operation {
  const query = `?environment=${place.environment}&instance_id={{${place.slug}_id}}`;
  return asOperator(model, operation, { method, path: `${PATH}/{{${name}}}${query}` });
}

function listErasures({ model, place }: Erasure): Operation {
  const query = model.turn(LISTINGS);
  const path = `${PATH}?${query}environment=${place.environment}&instance_id={{${place.slug}_id}}`;
  return asOperator(model, "list_erasures", { method: "GET", path });
}

const LISTINGS = ["", "limit=2&", "limit=1&start={{tombstone_1}}&"] as const;

function readBack({ model, place, stream }: Erasure): Operation[] {
  const path = `/${stream.type}/${encodeURIComponent(stream.id)}`;
  const get = (name: string, ending: string) =>
    request(model, name, sentTo(model, place, { method: "GET", path: `${path}${ending}` }));
  return [
    get("read_erased", "/events?raw=true"),
    get("read_erased", ""),
    get("attest", "/audit/attestation/0"),
  ];
}

/** Moves the clock and does what is then due. */
function passTime(model: TraceModel, advanceMs: number): Operation {
  model.nowMs += advanceMs;
  return { kind: "drain", name: "drain", advanceMs };
}

/** Any place outside production, where the minimum grace is three days. */
function pickFreePlace(model: TraceModel): Place {
  const place = pickPlace(model);
  return place.environment === "production" ? model.places[2]! : place;
}

/**
 * A whole erasure: bundles before, the markers after, the receipt, a write behind the markers.
 */
export function eraseStream(model: TraceModel): Operation[] {
  const { random } = model;
  const place = pickFreePlace(model);
  const erasure = newErasure(model, place, pickStream(model, place, { newOnes: 0.05 }));
  const graceHours = random.chance(0.7) ? 0 : 1;
  const legal: JsonObject = random.chance(0.5) ? { legal_basis: "GDPR 17" } : {};
  const before = random.chance(0.7) ? [anchorNow(model, place)] : [];
  const after = random.chance(0.5) ? [anchorNow(model, place)] : [];
  return [
    ...before,
    ask(erasure, { grace_hours: graceHours, ...legal }),
    onErasure(erasure, "read_erasure", "GET"),
    passTime(model, graceHours * MS_PER_HOUR),
    onErasure(erasure, "read_erasure", "GET"),
    listErasures(erasure),
    ...after,
    ...readBack(erasure),
  ];
}

/** One in three is in production, where nothing is erased at once. */
const FREE_PLACES = [true, true, false] as const;

/** Cancelled in time, too late, and twice; requested twice. */
export function takeBackErasure(model: TraceModel): Operation[] {
  const isFree = model.turn(FREE_PLACES);
  const place = isFree ? pickFreePlace(model) : model.places[0]!;
  const stream = streamOf(place, "note", "main");
  const write = (text: string) => {
    stream.length++;
    const path = `/note/${stream.id}/was_written`;
    const json = { data: { text }, metadata: METADATA };
    return request(model, "single_write", sentTo(model, place, { method: "POST", path, json }));
  };
  const [first, second] = [newErasure(model, place, stream), newErasure(model, place, stream)];
  const anchor = model.anchors;
  const tooLate = [
    ask(second, { grace_hours: 0 }),
    passTime(model, 0),
    onErasure(second, "take_back_erasure", "DELETE"),
    ...readBack(second),
    // The anchor covers the events, but the stream no longer has them.
    attestation(model, place, stream, { index: 0, number: anchor }),
    write("after"),
    ...readBack(second),
  ];
  return [
    write("before"),
    anchorNow(model, place),
    ask(first),
    ask(second),
    onErasure(first, "take_back_erasure", "DELETE"),
    onErasure(first, "take_back_erasure", "DELETE"),
    onErasure(first, "read_erasure", "GET"),
    ...(isFree ? tooLate : []),
  ];
}

/** Requests that are wrong or only unusual; sent in turn. */
const ODD_REQUESTS: readonly JsonObject[] = [
  { reason: "" },
  { reason: 7 },
  { key: "note" },
  { key: ":" },
  { key: "note:nowhere" },
  { key: "nothing:global" },
  { grace_hours: -1 },
  { grace_hours: 0.5 },
  { grace_hours: 1_000_000 },
  { legal_basis: "" },
  { environment: "moon" },
  { environment: "production", grace_hours: 71 },
  { more: true },
];

export function eraseOddly(model: TraceModel): Operation {
  const place = pickFreePlace(model);
  const erasure = newErasure(model, place, streamOf(place, "note", "global"));
  const asked = ask(erasure, model.turn(ODD_REQUESTS)) as RequestOperation;
  return { ...asked, name: "odd_erasure" };
}
