/**
 * What caused an event and what it has set off, as a graph: a tree by the first cause of each
 * thing, and further edges where one has two causes, such as a saga that a second event has moved.
 */

import type { Delivery, EventEffects } from "@daybook/client";

export type NodeKind = "event" | "timer" | "saga" | "step" | "delivery";

/** An event by its place; `stream_id` is its index in twelve digits. */
export interface EventPlace {
  readonly key: string;
  readonly stream_id: string;
}

export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind;
  /** The event type, or the name of the saga, step or listener. */
  readonly title: string;
  /** The stream that it is about; empty where it is about none. */
  readonly key: string;
  readonly state?: string | undefined;
  /** What else there is to say of it, for the list. */
  readonly detail?: string | undefined;
  /** The event that it is; absent while it is not written, and for what is no event. */
  readonly place?: EventPlace | undefined;
  readonly sagaId?: string | undefined;
  /** The id of a delivery. */
  readonly deliveryId?: string | undefined;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** What the first did to the second, such as `wrote`. */
  readonly label: string;
}

export interface EffectsGraph {
  readonly nodes: ReadonlyMap<string, GraphNode>;
  /** Of each node, the edges to the nodes that it is the first cause of, in their order. */
  readonly children: ReadonlyMap<string, readonly GraphEdge[]>;
  /** Edges to nodes that have another first cause. */
  readonly further: readonly GraphEdge[];
  /** Events whose effects are not known yet. */
  readonly unknown: readonly EventPlace[];
  /** Whether nodes were left out because there are too many. */
  readonly isCut: boolean;
}

/** More nodes than anybody looks at; a link leads on from any of them. */
export const NODES_MAX = 1_000;

export interface GraphBuilder {
  /** Adds a cause above everything that is there so far. */
  addCause(cause: EventPlace & { readonly event_type?: string | undefined }, label: string): void;
  /** Adds what events have set off, as one answer of the server tells it. */
  addEffects(data: readonly EventEffects[]): void;
  /** Adds how often each of these was tried, to those that are in the graph. */
  addTries(deliveries: readonly Delivery[]): void;
  /** The effects of this event cannot be known. */
  giveUp(place: EventPlace): void;
  graph(): EffectsGraph;
}

export function idOfEvent({ key, stream_id }: EventPlace): string {
  return `event ${stream_id} ${key}`;
}

interface Draft {
  readonly nodes: Map<string, GraphNode>;
  readonly children: Map<string, GraphEdge[]>;
  readonly further: GraphEdge[];
  readonly parents: Map<string, string>;
  readonly known: Set<string>;
  isCut: boolean;
}

/** `start`: the event that the graph is about. */
export function buildGraph(start: EventPlace & { readonly event_type: string }): GraphBuilder {
  const draft: Draft = {
    nodes: new Map(),
    children: new Map(),
    further: [],
    parents: new Map(),
    known: new Set(),
    isCut: false,
  };
  let top = idOfEvent(start);
  draft.nodes.set(top, eventNode(start));
  return {
    addCause(cause, label) {
      const id = idOfEvent(cause);
      if (draft.nodes.has(id)) return;
      draft.nodes.set(id, eventNode(cause));
      draft.known.add(id);
      connect(draft, { from: id, to: top, label });
      top = id;
    },
    addEffects(data) {
      for (const effects of data) addEffectsOf(draft, effects);
    },
    addTries(deliveries) {
      for (const delivery of deliveries) addTriesOf(draft, delivery);
    },
    giveUp: (place) => void draft.known.add(idOfEvent(place)),
    graph: () => ({ ...draft, unknown: unknownIn(draft) }),
  };
}

function eventNode(
  { key, stream_id, event_type }: {
    readonly key: string;
    readonly stream_id?: string | undefined;
    readonly event_type?: string | undefined;
  },
): GraphNode {
  const place = stream_id === undefined ? undefined : { key, stream_id };
  const id = place === undefined ? "" : idOfEvent(place);
  return { id, kind: "event", title: event_type ?? "erased event", key, place };
}

/** Adds a node below `from`, or only an edge to it where it is there; false if there is no room. */
function add(draft: Draft, from: string, label: string, node: GraphNode): boolean {
  const known = draft.nodes.get(node.id);
  if (known === undefined) {
    if (draft.nodes.size >= NODES_MAX) {
      draft.isCut = true;
      return false;
    }
    draft.nodes.set(node.id, node);
  } else if (known.kind === node.kind) {
    // A step of a saga is named before the type of its event is known.
    draft.nodes.set(node.id, { ...node, ...known });
  }
  connect(draft, { from, to: node.id, label });
  return true;
}

function connect(draft: Draft, edge: GraphEdge): void {
  const { from, to } = edge;
  const list = draft.children.get(from) ?? [];
  if (list.some((each) => each.to === to)) return;
  if (!draft.parents.has(to) && !isAbove(draft, to, from)) {
    draft.parents.set(to, from);
    draft.children.set(from, [...list, edge]);
  } else if (!draft.further.some((each) => each.from === from && each.to === to)) {
    draft.further.push(edge);
  }
}

/** Whether `id` is `below` or one of its causes: an edge from there to it would close a circle. */
function isAbove({ parents }: Draft, id: string, below: string): boolean {
  for (let at: string | undefined = below; at !== undefined; at = parents.get(at)) {
    if (at === id) return true;
  }
  return false;
}

function addEffectsOf(draft: Draft, effects: EventEffects): void {
  const { key, stream_id, event_type, implied, scheduled, sagas, deliveries } = effects;
  if (stream_id === undefined) return;
  const from = idOfEvent({ key, stream_id });
  const node = draft.nodes.get(from);
  if (node === undefined) return;
  draft.known.add(from);
  if (event_type !== undefined) draft.nodes.set(from, { ...node, title: event_type });
  for (const [at, each] of implied.entries()) {
    const node = eventNode(each);
    const pending = { ...node, id: `${from} implied ${at}`, state: "pending" };
    add(draft, from, "wrote", each.stream_id === undefined ? pending : node);
  }
  for (const timer of scheduled ?? []) addTimer(draft, from, timer);
  for (const saga of sagas ?? []) addSaga(draft, from, saga);
  for (const { listener: title, delivery_id: deliveryId, state } of deliveries ?? []) {
    const id = `delivery ${deliveryId}`;
    add(draft, from, "is sent to", { id, kind: "delivery", title, key: "", state, deliveryId });
  }
}

function addTriesOf({ nodes }: Draft, { delivery_id, attempts, tries, state }: Delivery): void {
  const id = `delivery ${delivery_id}`;
  const node = nodes.get(id);
  if (node === undefined) return;
  const last = tries.at(-1);
  const outcome = last === undefined ? "" : `, the last: ${last.status ?? last.failure}`;
  const detail = `${attempts} ${attempts === 1 ? "try" : "tries"}${outcome}`;
  nodes.set(id, { ...node, state, detail });
}

type Timer = NonNullable<EventEffects["scheduled"]>[number];

function addTimer(draft: Draft, from: string, timer: Timer): void {
  const { scheduled_id, state, key, event_type, fire_at, stream_id, cancelled_by } = timer;
  const id = `timer ${scheduled_id}`;
  const detail = cancelled_by === undefined
    ? `for ${fire_at}`
    : `for ${fire_at}, cancelled by ${cancelled_by.event_type ?? cancelled_by.reason}`;
  const node: GraphNode = { id, kind: "timer", title: event_type, key, state, detail };
  if (!add(draft, from, "scheduled", node)) return;
  if (stream_id !== undefined) add(draft, id, "fired", eventNode({ key, stream_id, event_type }));
  if (cancelled_by?.key === undefined || cancelled_by.stream_id === undefined) return;
  const { key: by, stream_id: at } = cancelled_by;
  const canceller = idOfEvent({ key: by, stream_id: at });
  if (draft.nodes.has(canceller)) connect(draft, { from: canceller, to: id, label: "cancelled" });
}

type Saga = NonNullable<EventEffects["sagas"]>[number];

function addSaga(draft: Draft, from: string, saga: Saga): void {
  const id = `saga ${saga.saga_id}`;
  const label = saga.started ? "started" : "moved on";
  const { name: title, state, saga_id: sagaId } = saga;
  if (!add(draft, from, label, { id, kind: "saga", title, key: "", state, sagaId })) return;
  // What a saga had done before the event came is no effect of it.
  const known = saga.started ? -1 : saga.steps.findIndex(({ event }) => {
    return event !== undefined && idOfEvent(event) === from;
  });
  for (const [at, { step, outcome, event, reason }] of saga.steps.entries()) {
    if (at <= known) continue;
    const node: GraphNode = event === undefined
      ? { id: `step ${at} ${saga.saga_id}`, kind: "step", title: step, key: "", state: outcome }
      : { ...eventNode({ ...event, event_type: step }), state: outcome };
    add(draft, id, `step ${step}`, { ...node, detail: reason, sagaId });
  }
}

function unknownIn({ nodes, known }: Draft): EventPlace[] {
  return [...nodes.values()]
    .filter(({ id, place }) => place !== undefined && !known.has(id))
    .map(({ place }) => place!);
}
