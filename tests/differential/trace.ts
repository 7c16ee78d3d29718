/** Makes a trace: a given number of mixed operations, all derived from one seed. */

import type { JsonObject } from "../../src/domain/json.ts";
import * as audit from "./audit_operations.ts";
import * as erasure from "./erasure_operations.ts";
import { liveOfKey } from "./key_operations.ts";
import { accounts, createInstance, deploySpec, openTrace, operate } from "./operator_operations.ts";
import type { Operation } from "./operation.ts";
import {
  listIds,
  readEvents,
  readLength,
  readOddly,
  readState,
  requestOddly,
} from "./read_operations.ts";
import { writeRefused } from "./refused_writes.ts";
import {
  createModel,
  type Place,
  request,
  sentTo,
  streamOf,
  type TraceModel,
} from "./trace_model.ts";
import * as writes from "./write_operations.ts";

export interface TraceOptions {
  /** The exact number of operations. */
  readonly operations: number;
  readonly seed: number;
}

type Author = (model: TraceModel) => Operation | Operation[];

/** How often each author writes the next operations, per 1,000. */
const MIX: readonly (readonly [weight: number, author: Author])[] = [
  [290, writes.writeSingle],
  [70, writes.writeBatch],
  [60, writes.writeAtomic],
  [80, writes.repeatWrite],
  [8, writes.writeTwiceAtOnce],
  [6, writes.writeIntoFault],
  [8, writes.writeLarge],
  [130, writeRefused],
  [150, readState],
  [36, readLength],
  [70, readEvents],
  [30, listIds],
  [36, readOddly],
  [33, requestOddly],
  [8, audit.makeAnchors],
  [16, audit.attest],
  [10, audit.askOddly],
  [3, erasure.eraseStream],
  [5, erasure.eraseOddly],
  [5, liveOfKey],
  [42, operate],
  [4, createInstance],
  [9, deploySpec],
  [5, drain],
  [2, restart],
];

/** A trace of at least this many operations also has the episodes that take seconds. */
export const LONG_TRACE_OPERATIONS = 10_000;

export function makeTrace({ operations, seed }: TraceOptions): Operation[] {
  const model = createModel(seed);
  const trace = [...openTrace(model), ...writes.firstWrites(model)];
  const episodes = placeEpisodes(operations);
  while (trace.length < operations) {
    const episode = episodes.findIndex(({ from }) => trace.length >= from);
    const author = episode < 0 ? drawAuthor(model) : episodes.splice(episode, 1)[0]!.author;
    trace.push(...[author(model)].flat());
  }
  return trace.slice(0, operations);
}

const WEIGHTS = MIX.reduce((sum, [weight]) => sum + weight, 0);

function drawAuthor({ random }: TraceModel): Author {
  let draw = random.below(WEIGHTS);
  for (const [weight, author] of MIX) {
    draw -= weight;
    if (draw < 0) return author;
  }
  return writes.writeSingle;
}

/** Episodes that happen only a few times, spread over the trace. */
function placeEpisodes(operations: number): { from: number; author: Author }[] {
  const isLong = operations >= LONG_TRACE_OPERATIONS;
  const authors: (readonly [author: Author, times: number])[] = [
    [letADayPass, 3],
    [restart, 3],
    [liveOfKey, 3],
    [audit.coverEvents, 2],
    [audit.rotateSigningKey, 2],
    [erasure.eraseStream, 3],
    [erasure.takeBackErasure, 6],
    [deploySpec, 7],
    [drain, 2],
    [writes.writeTwiceAtOnce, 4],
    [writes.writeIntoFault, 4],
    [nestTooDeep, 1],
    [writes.writeThousands, isLong ? 5 : 2],
  ];
  if (isLong) authors.push([outgrowTheBudget, 1], [fillOneWrite, 1], [accounts, 1]);
  return authors.flatMap(([author, times], row) =>
    Array.from({ length: times }, (_, index) => ({
      from: Math.floor(
        operations * (0.1 + 0.8 * (index + (row + 1) / (authors.length + 1)) / times),
      ),
      author,
    }))
  );
}

function drain(): Operation {
  return { kind: "drain", name: "drain", advanceMs: 0 };
}

function restart(): Operation {
  return { kind: "restart", name: "restart", advanceMs: 0 };
}

const FORGOTTEN_KEYS = 15;

/** Ledger entries and error records expire, and operators need new tokens. */
function letADayPass(model: TraceModel): Operation[] {
  const advanceMs = 25 * 3_600 * 1000;
  model.nowMs += advanceMs;
  // A few of the forgotten keys are enough for reuse.
  model.keyed.length = Math.min(model.keyed.length, FORGOTTEN_KEYS);
  return [{ kind: "drain", name: "a_day_passes", advanceMs }];
}

const METADATA = { actor: { type: "user", id: "global" } };

interface PostedBody {
  readonly path: string;
  readonly json: JsonObject;
}

function post(model: TraceModel, name: string, place: Place, { path, json }: PostedBody) {
  return request(model, name, sentTo(model, place, { method: "POST", path, json }));
}

function get(model: TraceModel, name: string, place: Place, path: string) {
  return request(model, name, sentTo(model, place, { method: "GET", path }));
}

/** A state with more levels than allowed cannot be read until it is cleared. */
function nestTooDeep(model: TraceModel): Operation[] {
  const place = model.places[2]!;
  const nested: JsonObject = { $times: 1_001, $item: { type: "was_nested" } };
  streamOf(place, "deep", "main").length += 1_002;
  return [
    post(model, "batch_write_of_thousands", place, {
      path: "/deep/main",
      json: {
        events: nested,
        metadata: METADATA,
      },
    }),
    get(model, "read_state", place, "/deep/main"),
    get(model, "read_state_synchronous", place, "/deep/main?synchronous"),
    get(model, "read_state_at", place, "/deep/main?at=9999999999"),
    get(model, "read_state_at", place, "/deep/main?at_length=1"),
    get(model, "read_state_at", place, "/deep/main?at_length=9999999"),
    get(model, "list_resolved", place, "/deep?resolve"),
    get(model, "read_state", place, "/deep/main"),
    post(model, "single_write", place, {
      path: "/deep/main/was_cleared",
      json: { data: {}, metadata: METADATA },
    }),
    get(model, "list_resolved", place, "/deep?resolve"),
  ];
}

/** More events than one request may fold: refused when synchronous, readable from a snapshot. */
function outgrowTheBudget(model: TraceModel): Operation[] {
  const place = model.places[3]!;
  const event = { type: "was_kept", data: { number: "$index", text: { $text: 70_000 } } };
  const path = "/archive/inventory";
  const parts = Array.from({ length: 5 }, () =>
    post(model, "bulk_write", place, {
      path,
      json: {
        events: { $times: 100, $item: event },
        metadata: METADATA,
      },
    }));
  return [
    ...parts,
    get(model, "read_state_synchronous", place, `${path}?synchronous`),
    get(model, "read_state_at", place, `${path}?at=9999999999`),
    get(model, "read_events_forwards", place, `${path}/events?count=5000`),
    get(model, "read_events_backwards", place, `${path}/events?direction=backwards&raw`),
    // Before the drain, earlier reads decide whether a plain read finds a snapshot to start
    // from.
    drain(),
    get(model, "read_state", place, path),
    get(model, "list_resolved", place, "/archive?resolve&synchronous"),
  ];
}

/** The most that one write may store, and slightly more than that. */
function fillOneWrite(model: TraceModel): Operation[] {
  const place = model.places[3]!;
  const filling = (bytes: number) => {
    const event = { type: "was_kept", data: { text: { $text: bytes } } };
    return { events: { $times: 80, $item: event }, metadata: METADATA };
  };
  return [
    post(model, "bulk_write", place, { path: "/archive/main", json: filling(99_600) }),
    post(model, "bulk_write_refused", place, { path: "/archive/main", json: filling(99_950) }),
  ];
}
