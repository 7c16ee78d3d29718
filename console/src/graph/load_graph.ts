/** Asks the server for what caused an event, and for what it has set off, step by step. */

import type { Client, Delivery, Refusal } from "@daybook/client";
import { startBefore } from "../shell/event_id.ts";
import { halvesOf } from "../shell/stream_key.ts";
import {
  buildGraph,
  type EffectsGraph,
  type EventPlace,
  type GraphBuilder,
} from "./effects_graph.ts";

/** How far one answer follows implied events; the server allows no more. */
const DEPTH = 8;
/** Causes above the event. */
const CAUSES_MAX = 20;
/** Further answers at a time, about events that timers and sagas have written. */
const ANSWERS_MAX = 24;
const ANSWERS_AT_ONCE = 4;
/** Listeners and states whose deliveries are looked up, and how many of each; a link leads on. */
const LISTENERS_MAX = 8;
const DELIVERIES_MAX = 200;
const NOT_FOUND = 404;

export interface LoadedGraph {
  readonly ok: true;
  readonly graph: EffectsGraph;
  /** False if the server no longer knows everything. */
  readonly complete: boolean;
  /** Whether an answer of the server ended before everything was told. */
  readonly truncated: boolean;
  /** Why it ends before all that was asked for, if it does. */
  readonly refusal?: Refusal | undefined;
  /** Goes on from where the graph ends; the graph has grown when it resolves. */
  loadMore(signal: AbortSignal): Promise<LoadedGraph | Refusal>;
}

interface Metadata {
  readonly implied_by?: EventPlace & { readonly event_type?: string };
  readonly scheduled?: object;
  readonly saga?: { readonly name: string; readonly step?: string };
}

export async function loadGraph(
  db: Client,
  start: EventPlace,
  signal: AbortSignal,
): Promise<LoadedGraph | Refusal> {
  const first = await readEvent(db, start, signal);
  if (!("event" in first)) return first;
  const builder = buildGraph({ ...start, event_type: first.event.type });
  let metadata = first.event.metadata as Metadata;
  for (let above = 0; above < CAUSES_MAX && metadata.implied_by !== undefined; above++) {
    const cause = metadata.implied_by;
    builder.addCause(cause, labelOf(metadata));
    const read = await readEvent(db, cause, signal);
    if (!("event" in read)) break;
    metadata = read.event.metadata as Metadata;
  }
  const growing = { db, builder, start, complete: true, truncated: false };
  return await expand(growing, [start], signal);
}

function labelOf({ scheduled, saga }: Metadata): string {
  if (saga !== undefined) return `saga ${saga.name}${saga.step ? `, step ${saga.step}` : ""}`;
  return scheduled === undefined ? "wrote" : "scheduled";
}

async function readEvent(db: Client, { key, stream_id }: EventPlace, signal: AbortSignal) {
  const start = startBefore(Number(stream_id));
  const answer = await handleOf(db, key).eventsPage({ start, count: 1, signal });
  if (!answer.ok) return answer as Refusal;
  const [entry] = answer.data;
  return entry ?? NOT_THERE;
}

const NOT_THERE: Refusal = {
  ok: false,
  status: NOT_FOUND,
  error: "There is no such event in the stream.",
  error_type: "not_found",
} as Refusal;

function handleOf(db: Client, key: string) {
  const { type, id } = halvesOf(key);
  return db[type]!(id);
}

interface Growing {
  readonly db: Client;
  readonly builder: GraphBuilder;
  /** Without its effects there is nothing to show. */
  readonly start: EventPlace;
  readonly complete: boolean;
  readonly truncated: boolean;
}

async function expand(
  growing: Growing,
  first: readonly EventPlace[],
  signal: AbortSignal,
): Promise<LoadedGraph | Refusal> {
  const { db, builder, start } = growing;
  let { complete, truncated } = growing;
  let refusal: Refusal | undefined;
  let wanted = first;
  for (let left = ANSWERS_MAX; left > 0 && wanted.length > 0; left -= ANSWERS_AT_ONCE) {
    const asked = wanted.slice(0, Math.min(left, ANSWERS_AT_ONCE));
    const answers = await Promise.all(
      asked.map((place) =>
        handleOf(db, place.key).effects(Number(place.stream_id), { depth: DEPTH, signal })
      ),
    );
    for (const [at, answer] of answers.entries()) {
      if (answer.ok) {
        builder.addEffects(answer.data);
        complete &&= answer.complete;
        truncated ||= answer.truncated;
      } else if (asked[at] === start) {
        return answer as Refusal;
      } else if (answer.status === NOT_FOUND) {
        builder.giveUp(asked[at]!);
      } else {
        refusal = answer as Refusal;
      }
    }
    const { unknown, isCut } = builder.graph();
    // A full graph has no room for what further answers tell.
    if (refusal !== undefined || isCut) break;
    wanted = unknown;
  }
  if (refusal === undefined) await addTries(growing, signal);
  const grown = { ...growing, complete, truncated };
  return {
    ok: true,
    graph: builder.graph(),
    complete,
    truncated,
    refusal,
    loadMore: (signal) => expand(grown, builder.graph().unknown, signal),
  };
}

/** The effects name deliveries and their states; their tries are in the list of each listener. */
async function addTries({ db, builder }: Growing, signal: AbortSignal): Promise<void> {
  const open = new Map<string, readonly [listener: string, state: Delivery["state"]]>();
  for (const { kind, title, state, detail } of builder.graph().nodes.values()) {
    if (kind !== "delivery" || detail !== undefined) continue;
    open.set(`${state} ${title}`, [title, state as Delivery["state"]]);
  }
  const wanted = [...open.values()].slice(0, LISTENERS_MAX);
  await Promise.all(wanted.map(async ([listener, state]) => {
    const options = { state, limit: DELIVERIES_MAX, signal };
    const answer = await db.$listeners.deliveriesPage(listener, options);
    if (answer.ok) builder.addTries(answer.data);
  }));
}
