/**
 * The listeners of the current spec with the state of their deliveries (`GET /_listeners`), and
 * the deliveries of one listener (`GET /_listeners/{name}/deliveries`).
 */

import type { Circuit } from "../../domain/listener/circuit.ts";
import type { Listener } from "../../domain/listener/definition.ts";
import { type DeliveryState, END_STATES, type EndState } from "../../domain/listener/delivery.ts";
import {
  type DeliveryPage,
  type DeliveryView,
  type ListenerPage,
  type ListenerView,
  viewCircuit,
  viewEnded,
  viewListener,
  viewPending,
} from "../../domain/listener/view.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import { cutPage, pageLimit } from "../../domain/list_page.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import {
  countPending,
  type Endpoint,
  listPendingDeliveries,
} from "../../store/listeners/deliveries.ts";
import { countEnded, listEnded } from "../../store/listeners/ended_deliveries.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { eventId, parseEventId } from "../../domain/event.ts";
import { DELIVERY_ID } from "../../domain/listener/delivery_id.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";

export interface ListListenersRequest {
  readonly limit?: number;
  /** A name; the page begins after it. */
  readonly start?: string;
}

export interface ListenerTools {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly circuitOf: (tenant: number, listener: string) => Circuit | undefined;
}

/** The largest count for each state of each listener. */
const COUNT_MAX = 200;

/** Sorted by name. Others have turns between the listeners, of which each has four counts. */
export async function listListeners(
  tools: ListenerTools,
  { number: tenant }: Tenant,
  request: ListListenersRequest,
): Promise<ListenerPage> {
  const { listeners } = await tools.specs.current(tenant);
  const { start } = request;
  const names = [...listeners.keys()].sort()
    .filter((name) => start === undefined || name > start);
  const page = cutPage(names, request.limit, (name) => name);
  const data: ListenerView[] = [];
  const pieces = openPieces(tools.host);
  for (const name of page.data) {
    data.push(await view(tools, tenant, listeners.get(name)!));
    await pieces.rest();
  }
  return { ...page, data };
}

async function view(
  { engine, host, circuitOf }: ListenerTools,
  tenant: number,
  listener: Listener,
): Promise<ListenerView> {
  const deliveries = await countDeliveries(engine, tenant, listener.name);
  const circuit = viewCircuit(circuitOf(tenant, listener.name), host.nowMs());
  return viewListener(listener, deliveries, COUNT_MAX, circuit);
}

async function countDeliveries(
  engine: Engine,
  tenant: number,
  listener: string,
): Promise<Record<DeliveryState, number>> {
  const at = { tenant, listener };
  return await engine.snapshot(async (tx) => {
    const [pending, delivered, dead, dropped] = await Promise.all([
      countPending(tx, at, COUNT_MAX),
      countEnded(tx, at, "delivered", COUNT_MAX),
      countEnded(tx, at, "dead", COUNT_MAX),
      countEnded(tx, at, "dropped", COUNT_MAX),
    ]);
    return { pending, delivered, dead, dropped };
  });
}

export interface ListDeliveriesRequest {
  readonly listener: string;
  readonly state?: DeliveryState;
  readonly limit?: number;
  /** A cursor from an earlier page. */
  readonly start?: string;
}

const STATES: readonly DeliveryState[] = ["pending", ...END_STATES];
/** Longer than any cursor. */
const START_CHARACTERS_MAX = 256;

/** The start of a page: after a delivery of one state. */
interface Place {
  readonly state: DeliveryState;
  readonly after?: string;
}

/**
 * Covers one state, or all states in turn. Pending deliveries are sorted by stream and index,
 * finished ones newest first.
 */
export async function listDeliveries(
  engine: Engine,
  specs: SpecCache,
  { number: tenant }: Tenant,
  { listener, state, limit, start }: ListDeliveriesRequest,
): Promise<Outcome<DeliveryPage>> {
  const first: Place = { state: state ?? STATES[0]! };
  const from = start === undefined ? first : parsePlace(start);
  if (from === undefined || (state !== undefined && from.state !== state)) {
    const message = "start must be a cursor that a page of the same list has given";
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const states = state === undefined ? STATES.slice(STATES.indexOf(from.state)) : [state];
  const at = { tenant, listener };
  const found = await engine.snapshot((tx) =>
    readStates(tx, { at, states, from, limit: pageLimit(limit) + 1 })
  );
  const isKnown = found.length > 0 || start !== undefined ||
    (await specs.current(tenant)).listeners.has(listener) || await hasAny(engine, at);
  if (!isKnown) return refuse({ kind: "not_found", message: NO_LISTENER });
  return accept(cutPage(found, limit, cursorOf));
}

export const NO_LISTENER = "There is no such listener";

async function hasAny(engine: Engine, at: Endpoint): Promise<boolean> {
  const first = { state: STATES[0]! };
  return (await engine.snapshot((tx) =>
    readStates(tx, { at, states: STATES, from: first, limit: 1 })
  )).length > 0;
}

interface StatesPage {
  readonly at: Endpoint;
  readonly states: readonly DeliveryState[];
  readonly from: Place;
  readonly limit: number;
}

async function readStates(
  tx: ReadTransaction,
  { at, states, from, limit }: StatesPage,
): Promise<DeliveryView[]> {
  const found: DeliveryView[] = [];
  for (const state of states) {
    const left = limit - found.length;
    if (left === 0) break;
    const after = state === from.state ? from.after : undefined;
    found.push(...await readState(tx, { at, state, after, limit: left }));
  }
  return found;
}

interface StatePage {
  readonly at: Endpoint;
  readonly state: DeliveryState;
  readonly after: string | undefined;
  readonly limit: number;
}

async function readState(
  tx: ReadTransaction,
  { at, state, after, limit }: StatePage,
): Promise<DeliveryView[]> {
  if (state !== "pending") {
    const page = { limit, after, reverse: true };
    return (await listEnded(tx, at, state as EndState, page)).map(viewEnded);
  }
  const pending = await listPendingDeliveries(
    tx,
    at,
    after === undefined ? undefined : parsePending(after),
    limit,
  );
  return pending.map(({ stream, index, delivery }) => viewPending(stream, index, delivery));
}

function cursorOf({ state, delivery_id, event: { key, stream_id } }: DeliveryView): string {
  return state === "pending" ? `${state}.${key}.${stream_id}` : `${state}.${delivery_id}`;
}

function parsePlace(text: string): Place | undefined {
  const at = text.indexOf(".");
  const state = STATES.find((each) => each === text.slice(0, at));
  const after = text.slice(at + 1);
  if (state === undefined || text.length > START_CHARACTERS_MAX) return undefined;
  const isPlace = state === "pending" ? parsePending(after) !== undefined : DELIVERY_ID.test(after);
  return isPlace ? { state, after } : undefined;
}

function parsePending(text: string) {
  const at = text.length - eventId(0).length;
  const index = text[at - 1] === "." ? parseEventId(text.slice(at)) : undefined;
  return index === undefined ? undefined : { stream: text.slice(0, at - 1) as StreamKey, index };
}
