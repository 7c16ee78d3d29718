/**
 * The HTTP edge as one application: every request passes the same checks in the same order.
 *
 * `paths.ts` lists the paths and who may call them. See docs/reference/basics.md.
 */

import type { Host } from "../host.ts";
import type { Service } from "../features/service.ts";
import type { Refusal } from "../domain/refusal.ts";
import { RESERVED_EACH, UNDER_WAY_MAX } from "../domain/limits/load.ts";
import { beginWork, endWork, type Work } from "../domain/fairness/thread_watch.ts";
import { compress, createRequestIds, withoutBody } from "./answer.ts";
import { leaveBody } from "./decode/body_bytes.ts";
import { answerFailure, answerRefused } from "./failure.ts";
import {
  type Address,
  createPlaces,
  findPath,
  findRoute,
  type FoundPath,
  type FoundRoute,
  isOfProcess,
  parseAddress,
} from "./find_route.ts";
import { claimAnswer, unclaimedAnswers } from "./long_answer.ts";
import { countRequest, newRequestCounts, NO_ROUTE } from "./metrics/request_counts.ts";
import { createAddressNet } from "./middleware/address_net.ts";
import {
  authenticateCaller,
  authenticateHolder,
  knownInstance,
} from "./middleware/authenticate.ts";
import { createCors } from "./middleware/cors.ts";
import { createLoadGate, SHED_STATUS } from "./middleware/load_gate.ts";
import { limitAddress, limitInstance, setRateHeaders } from "./middleware/rate_limit.ts";
import { PATHS } from "./paths.ts";
import { sendRefusal } from "./reply.ts";
import type { AppOptions, Call, Connection, Edge, PathRoutes, RateHeaders, Route } from "./call.ts";

const MS_PER_SECOND = 1000;

/** Paths about the process itself; they are answered under any load. */
const ALWAYS_ANSWERED: ReadonlySet<PathRoutes> = new Set(
  PATHS.filter(({ methods }) => [...methods.values()].every(isOfProcess)),
);

const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
const MALFORMED_HOST: Refusal = { kind: "bad_request", message: "Malformed Host header" };

const NO_ROOM: Refusal = {
  kind: "no_room",
  message: "Too many large answers wait to be read by their clients; try again",
};

/** Requests that may wait for a turn, beside those that each instance may have there anyway. */
const WAITING_MAX = UNDER_WAY_MAX;
/** Who sends no key, or one that is not known yet: all of these are one owner in the line. */
const NO_INSTANCE = "";
/** Requests about the process are another one. */
const OF_PROCESS = "process";

/** A request on its way from the gate to the answer. */
interface Arrival {
  readonly request: Request;
  readonly connection: Connection;
  readonly address: Address;
  readonly path: FoundPath | undefined;
  readonly work: Work;
  readonly stepOut: () => void;
}

/** The application that a listener calls for each request. */
export interface App {
  fetch(request: Request, connection?: Connection): Promise<Response>;
}

/** HTTP/1.0 requests and requests made in process may have no Host header. */
function isHost(header: string | null): boolean {
  return header === null || HOST.test(header);
}

/** The application of one listener, or of all hosts of a base domain. */
export function createApp(service: Service, host: Host, options: AppOptions): App {
  const { requests = newRequestCounts(), drain, watch } = options;
  const { addressNet = createAddressNet(options.clientAddress) } = options;
  const { loadGate = createLoadGate(service, host) } = options;
  const edge: Edge = { service, host, options, requests, addressNet, loadGate, paths: PATHS };
  const nextRequestId = createRequestIds(host);
  const findPlace = createPlaces(options.environment);
  const cors = createCors(options.corsOrigins ?? [], options.headerPrefix);
  const { admission } = host;

  /** Undefined if too many wait already, and the request need not be answered. */
  function waitForAdmission(request: Request, isGated: boolean): Promise<void> | undefined {
    if (!isGated) return admission.wait(OF_PROCESS);
    const instance = knownInstance(service.access, request.headers.get("authorization"));
    const isReserved = instance !== undefined && admission.waitingOf(instance) < RESERVED_EACH;
    if (!isReserved && admission.waiting >= WAITING_MAX) return undefined;
    return admission.wait(instance ?? NO_INSTANCE);
  }

  async function answer(arrival: Arrival): Promise<Response> {
    const { request, connection, address, path } = arrival;
    const requestId = nextRequestId(request.headers.get("x-request-id"));
    options.tracer?.nameRequest(request.method, path?.path.pattern, requestId);
    if (request.method === "OPTIONS") {
      return cors.answerPreflight(requestId, request.headers.get("origin"));
    }
    // The runtime puts the Host header before the path, so a malformed host would become part
    // of the path.
    if (!isHost(request.headers.get("host"))) return sendRefusal(requestId, MALFORMED_HOST);
    const found = findRoute(request, address, path, findPlace);
    if (!found.ok) return refuseUnrouted(edge, { request, connection }, requestId, found.refusal);
    const call = arrival.work.owner = newCall(arrival, requestId, found.value, host);
    let response: Response;
    try {
      response = await answerCall(edge, call, found.value.handler);
    } catch (error) {
      response = answerFailure(edge, call, error);
    }
    call.body?.leave();
    if (unclaimedAnswers.has(response) && !claimAnswer(response, call.owner)) {
      response = answerRefused(edge, call, NO_ROOM);
    }
    response = compress(response, request);
    setRateHeaders(response, call.rate);
    return response;
  }

  async function fetch(request: Request, connection?: Connection): Promise<Response> {
    const address = parseAddress(request.url);
    const path = address.segments && findPath(address.segments);
    // There is a load under which these are not answered.
    let isGated = path === undefined || !ALWAYS_ANSWERED.has(path.path);
    if (!admission.enter()) {
      const turn = waitForAdmission(request, isGated);
      if (turn === undefined) return await shed(request);
      await turn;
    }
    let reservedFor: string | undefined;
    if (isGated && !loadGate.enter()) {
      reservedFor = takeReserved(request);
      if (reservedFor === undefined) return await shed(request);
    }
    let isWaitedFor = drain?.enter() ?? false;
    const beganMs = host.monotonicMs();
    const route = path?.path.pattern ?? NO_ROUTE;
    const work: Work = { at: 0, sinceMs: beganMs, route, method: request.method, owner: undefined };
    if (watch !== undefined) beginWork(watch, work);
    let endedMs: number | undefined;
    const stepOut = () => {
      if (isWaitedFor) drain!.leave();
      if (isGated) loadGate.leave(beganMs, host.monotonicMs(), reservedFor);
      isWaitedFor = isGated = false;
    };
    try {
      let response = await answer({ request, connection, address, path, work, stepOut });
      if (request.method === "HEAD") response = await withoutBody(response);
      const origin = request.headers.get("origin");
      if ((origin !== null || cors.varies) && request.method !== "OPTIONS") {
        cors.expose(response, origin);
      }
      if (response.status >= 400) leaveBody(request);
      endedMs = host.monotonicMs();
      const seconds = (endedMs - beganMs) / MS_PER_SECOND;
      countRequest(requests, route, request.method, response.status, seconds);
      return response;
    } finally {
      endedMs ??= host.monotonicMs();
      if (isWaitedFor) drain!.leave();
      if (isGated) loadGate.leave(beganMs, endedMs, reservedFor);
      if (watch !== undefined) endWork(watch, work, endedMs);
    }
  }

  /** The instance that has a place for one more request; undefined if there is none. */
  function takeReserved(request: Request): string | undefined {
    const instance = knownInstance(service.access, request.headers.get("authorization"));
    return instance !== undefined && loadGate.enterReserved(instance) ? instance : undefined;
  }

  function shed(request: Request): Response | Promise<Response> {
    countRequest(requests, NO_ROUTE, request.method, SHED_STATUS, 0);
    leaveBody(request);
    return loadGate.shed(nextRequestId(request.headers.get("x-request-id")));
  }

  return { fetch };
}

/** Declare every field up front so that V8 keeps one hidden class for all calls. */
function newCall(
  { request, connection, stepOut }: Arrival,
  requestId: string,
  found: FoundRoute,
  host: Host,
): Call {
  const { params, query, place, route } = found;
  return {
    request,
    requestId,
    params,
    query,
    place,
    route,
    connection,
    host,
    owner: "",
    body: undefined,
    tenant: undefined,
    tier: undefined,
    rate: undefined,
    stepOut,
  };
}

/** A path error is always reported in full, and it counts like any other request. */
function refuseUnrouted(
  edge: Edge,
  caller: Pick<Call, "request" | "connection">,
  requestId: string,
  refusal: Refusal,
): Response {
  const counted: typeof caller & { rate?: RateHeaders } = { ...caller };
  limitAddress(edge, counted);
  const response = sendRefusal(requestId, refusal);
  setRateHeaders(response, counted.rate);
  return response;
}

/** Checks the key or token and the rate limit, then runs the handler. */
async function answerCall(edge: Edge, call: Call, route: Route): Promise<Response> {
  const { access } = edge.service;
  // Health and metrics are answered until the process ends.
  if (edge.options.drain?.isStopping() && !isOfProcess(route)) {
    return answerRefused(edge, call, { kind: "server_stopping" });
  }
  const header = call.request.headers.get("authorization");
  switch (route.access) {
    case "health":
    case "metrics":
      return await route.run(edge, call);
    case "open": {
      const net = limitAddress(edge, call);
      if (!net.ok) return sendRefusal(call.requestId, net.refusal);
      return await route.run(edge, call);
    }
    case "operator": {
      const caller = await authenticateCaller(access, header);
      const net = limitAddress(edge, call);
      if (!net.ok) return sendRefusal(call.requestId, net.refusal);
      if (!caller.ok) return sendRefusal(call.requestId, caller.refusal);
      call.owner = caller.value.subject;
      return await route.run(edge, call, caller.value);
    }
    case "read":
    case "write": {
      const holder = await authenticateHolder(access, header, call, route.access);
      // Past the address limit, a caller must not learn if a key is valid: it may be guessing.
      // What an operator reads is no read of the instance: it is limited as operator calls are.
      const limiting = holder.ok && holder.value.operator === undefined
        ? limitInstance(edge, call, holder.value.instance, route.access)
        : limitAddress(edge, call);
      const limited = limiting instanceof Promise ? await limiting : limiting;
      if (!limited.ok) return sendRefusal(call.requestId, limited.refusal);
      if (!holder.ok) return sendRefusal(call.requestId, holder.refusal);
      call.tenant = holder.value.tenant;
      // Also for operators: whoever has many tokens has no more room and places for one instance.
      call.owner = holder.value.tenant.instanceId;
      call.tier = holder.value.instance.tier;
      return await route.run(edge, call, holder.value.tenant);
    }
  }
}
