/**
 * Audit operations of a trace: anchors, bundles made from them, signing keys, faulty queries.
 * Keys and times are the same on all subjects, so even signatures are the same.
 */

import type { JsonObject } from "../../src/domain/json.ts";
import type { Operation } from "./operation.ts";
import { asOperator } from "./operator_operations.ts";
import {
  keyOf,
  pickPlace,
  type Place,
  request,
  sentTo,
  spell,
  type Stream,
  streamOf,
  type TraceModel,
} from "./trace_model.ts";

/** How many anchors of each place can be named later. */
const ANCHORS_NAMED = 4;

/** The name that holds the id of an anchor of the place. */
function anchorName({ name }: Place, number: number): string {
  return `anchor_${name}_${number % ANCHORS_NAMED}`;
}

export function placeFields({ slug, environment }: Place): JsonObject {
  return { instance_id: `{{${slug}_id}}`, environment };
}

/** Returns the previous anchor if nothing was written since. */
export function anchorNow(model: TraceModel, place: Place): Operation {
  const name = anchorName(place, model.anchors++);
  const sending = { method: "POST", path: "/_admin/anchors", json: placeFields(place) };
  return asOperator(model, "make_anchor", sending, { save: { [name]: "anchor.id" } });
}

function asking(model: TraceModel, name: string, place: Place, path: string): Operation {
  return request(model, name, sentTo(model, place, { method: "GET", path }));
}

/** Makes one anchor, or two in a row, and reads about them. */
export function makeAnchors(model: TraceModel): Operation[] {
  const { random } = model;
  const place = pickPlace(model);
  const made = [anchorNow(model, place)];
  if (random.chance(0.3)) made.push(anchorNow(model, place));
  const known = anchorName(place, random.below(ANCHORS_NAMED));
  const paths = [
    "/_audit/anchors/latest",
    `/_audit/anchors/{{${known}}}`,
    "/_audit/anchors",
    `/_audit/anchors?limit=${1 + random.below(3)}`,
    `/_audit/anchors?limit=2&start={{${known}}}`,
    "/_audit/signing-key",
    "/_audit/signing-key?all",
    "/_audit/platform-key",
    "/_audit/platform-anchors/latest",
  ];
  return [...made, asking(model, "read_anchors", place, model.turn(paths))];
}

/** Asks for the bundle of any event of any stream, under the newest anchor or an older one. */
export function attest(model: TraceModel): Operation[] {
  const { random } = model;
  const place = pickPlace(model);
  const written = [...place.streams.values()].filter(({ length }) => length > 0);
  if (written.length === 0) return [anchorNow(model, place)];
  const stream = random.pick(written);
  // One in ten is behind the end.
  const index = random.below(Math.ceil(stream.length * 1.1));
  const number = random.chance(0.5) ? random.below(ANCHORS_NAMED) : undefined;
  return [attestation(model, place, stream, { index, number })];
}

export interface AttestedEvent {
  readonly index: number;
  readonly number?: number;
}

/**
 * `number` is the anchor's position in the trace, counted from 0; by default the newest is
 * meant.
 */
export function attestation(
  model: TraceModel,
  place: Place,
  { type, id }: Stream,
  { index, number }: AttestedEvent,
): Operation {
  const path = `/${type}/${spell(model.random, id)}/audit/attestation/${index}`;
  const query = number === undefined ? "" : `?anchor={{${anchorName(place, number)}}}`;
  return asking(model, "attest", place, `${path}${query}`);
}

/** The anchor after an event covers it; no earlier one does. */
export function coverEvents(model: TraceModel): Operation[] {
  const place = pickPlace(model);
  const stream = streamOf(place, "note", "global");
  const write = () => {
    stream.length++;
    const json = {
      data: { text: "evidence" },
      metadata: { actor: { type: "user", id: "global" } },
    };
    const sent = sentTo(model, place, { method: "POST", path: "/note/global/was_written", json });
    return request(model, "single_write", { ...sent, as: keyOf(place) });
  };
  const first = write();
  const before = model.anchors;
  const ask = (index: number, number?: number) =>
    attestation(model, place, stream, { index, number });
  return [
    first,
    anchorNow(model, place),
    ask(0),
    ask(stream.length - 1, before),
    write(),
    ask(stream.length - 1),
    anchorNow(model, place),
    ask(stream.length - 1),
    ask(stream.length - 1, before),
  ];
}

/** Queries whose answer is no bundle, anchor or key; asked in turn. */
const ODD_QUESTIONS: readonly string[] = [
  "/note/global/audit/attestation/-1",
  "/note/global/audit/attestation/1.5",
  "/note/global/audit/attestation/first",
  "/note/global/audit/attestation/00",
  "/note/global/audit/attestation/9007199254740993",
  "/note/global/audit/attestation/99999999",
  "/note/global/audit/attestation/0?anchor=anc_nothing",
  "/note/global/audit/attestation/0?anchor=",
  "/note/5b3e1a7c-9d24-4f6a-8b1e-00000000ffff/audit/attestation/0",
  "/note/short/audit/attestation/0",
  "/nothing/global/audit/attestation/0",
  "/_audit/anchors/anc_nothing",
  "/_audit/anchors?limit=0",
  "/_audit/anchors?limit=some",
  "/_audit/anchors?start=anc_nothing",
  "/_audit/signing-key?all=perhaps",
  "/_admin/anchors",
];

export function askOddly(model: TraceModel): Operation {
  return asking(model, "odd_question", pickPlace(model), model.turn(ODD_QUESTIONS));
}

/** From now on another key signs; signatures of the old key stay valid. */
export function rotateSigningKey(model: TraceModel): Operation[] {
  const place = pickPlace(model);
  const sending = { method: "POST", path: "/_admin/signing-keys", json: placeFields(place) };
  return [
    asOperator(model, "rotate_signing_key", sending),
    asking(model, "read_anchors", place, "/_audit/signing-key?all"),
    ...coverEvents(model),
  ];
}
