/**
 * Owns what a process remembers of each listener that it delivers to. It knows the next lanes,
 * the tries under way and how the endpoint has answered. All of it is bounded; the store has
 * the rest, and a lane forgotten here is found again by its mark.
 */

import {
  allowsTry,
  type Circuit,
  circuitAfter,
  circuitAtStart,
  CLOSED_CIRCUIT,
} from "../../domain/listener/circuit.ts";
import type { Lane } from "../../domain/listener/delivery.ts";
import type { StreamKey } from "../../domain/identifier.ts";

/** An instance. Its environments share its limit on tries under way. */
export interface Owner {
  readonly name: string;
  underWay: number;
  endpoints: number;
}

export interface Endpoint {
  readonly tenant: number;
  readonly listener: string;
  /** The next lanes, at most {@link LANES_AHEAD}. */
  readonly waiting: Lane[];
  underWay: number;
  owner: Owner;
  /** Belongs to `url`: a listener with another address starts with a fresh circuit. */
  circuit: Circuit;
  url: string | undefined;
  /** The store may have marked lanes that are not in `waiting`. */
  hasMore: boolean;
  /** By shard: the stream after which its next lanes are looked for. Missing: from the first. */
  readonly cursors: Map<number, StreamKey>;
  /**
   * While the endpoint is left alone: from when on its lanes are checked for deliveries that
   * are too old.
   */
  looksMs: number;
}

export interface Endpoints {
  open(tenant: number, listener: string): Endpoint;
  find(tenant: number, listener: string): Endpoint | undefined;
  all(): Iterable<Endpoint>;
  /**
   * Forgets an endpoint without work, unless it has failed. Of those that have, the ones used
   * last are remembered, at most {@link IDLE_ENDPOINTS_MAX}.
   */
  closeIdle(endpoint: Endpoint): void;
}

/**
 * Lanes of one listener kept ready, so that each finished try is followed by the next one at
 * once.
 */
export const LANES_AHEAD = 64;
/**
 * Endpoints without work whose failures are remembered. Each takes some kilobytes, and every look
 * for lanes passes all of them.
 */
export const IDLE_ENDPOINTS_MAX = 1_000;
/** How often the lanes of an endpoint that is left alone are checked. */
const LOOK_MS = 250;

/** `instanceOf` returns the instance to which a tenant number belongs. */
export function openEndpoints(
  instanceOf: (tenant: number) => string | Promise<string>,
): Endpoints {
  const known = new Map<string, Endpoint>();
  /** Those of them that have no work, but failures; the least recently used come first. */
  const idle = new Set<Endpoint>();
  /**
   * Owners by instance. A tenant stands for its instance until the store has told which one it
   * is.
   */
  const owners = new Map<string, Owner>();

  function join(endpoint: Endpoint, name: string): void {
    let owner = owners.get(name);
    if (owner === undefined) owners.set(name, owner = { name, underWay: 0, endpoints: 0 });
    owner.endpoints++;
    owner.underWay += endpoint.underWay;
    endpoint.owner = owner;
  }

  function leave({ owner, underWay }: Endpoint): void {
    owner.underWay -= underWay;
    if (--owner.endpoints === 0) owners.delete(owner.name);
  }

  function create(tenant: number, listener: string): Endpoint {
    const endpoint = newEndpoint(tenant, listener);
    const instance = instanceOf(tenant);
    if (typeof instance === "string") {
      join(endpoint, instance);
      return endpoint;
    }
    join(endpoint, `tenant ${tenant}`);
    const move = (name: string) => {
      if (known.get(endpointName(tenant, listener)) !== endpoint) return;
      leave(endpoint);
      join(endpoint, name);
    };
    instance.then(move, () => {});
    return endpoint;
  }

  function forget(endpoint: Endpoint): void {
    known.delete(endpointName(endpoint.tenant, endpoint.listener));
    idle.delete(endpoint);
    leave(endpoint);
  }

  return {
    open(tenant, listener) {
      const name = endpointName(tenant, listener);
      let endpoint = known.get(name);
      if (endpoint === undefined) known.set(name, endpoint = create(tenant, listener));
      idle.delete(endpoint);
      return endpoint;
    },
    find: (tenant, listener) => known.get(endpointName(tenant, listener)),
    all: () => known.values(),
    closeIdle(endpoint) {
      const { waiting, underWay, circuit, hasMore } = endpoint;
      if (waiting.length > 0 || underWay > 0 || hasMore) return;
      if (circuit.failuresInRow === 0) return forget(endpoint);
      idle.add(endpoint);
      const [first] = idle;
      if (idle.size > IDLE_ENDPOINTS_MAX) forget(first!);
    },
  };
}

export function endpointName(tenant: number, listener: string): string {
  return `${tenant}/${listener}`;
}

/** Placeholder until an endpoint joins its owner. */
const NOBODY: Owner = { name: "", underWay: 0, endpoints: 0 };

function newEndpoint(tenant: number, listener: string): Endpoint {
  return {
    tenant,
    listener,
    waiting: [],
    underWay: 0,
    owner: NOBODY,
    circuit: CLOSED_CIRCUIT,
    url: undefined,
    hasMore: false,
    cursors: new Map(),
    looksMs: 0,
  };
}

/** How many lanes to read from the store: as many as fit, or 0 while over half are waiting. */
export function roomOf({ waiting, circuit, looksMs }: Endpoint, nowMs: number): number {
  if (!allowsTry(circuit, nowMs) && nowMs < looksMs) return 0;
  return 2 * waiting.length > LANES_AHEAD ? 0 : LANES_AHEAD - waiting.length;
}

/** Notes that its lanes are being read now. */
export function noteLook(endpoint: Endpoint, nowMs: number): void {
  endpoint.looksMs = nowMs + LOOK_MS;
}

/** Counts one more lane of the endpoint under way, or one less. */
export function noteUnderWay(endpoint: Endpoint, change: 1 | -1): void {
  endpoint.underWay += change;
  endpoint.owner.underWay += change;
}

/** Whether a try at `url` may begin now. If so, it counts as begun. */
export function beginTry(endpoint: Endpoint, url: string, nowMs: number): boolean {
  if (endpoint.url !== url) {
    endpoint.url = url;
    endpoint.circuit = CLOSED_CIRCUIT;
  }
  if (!allowsTry(endpoint.circuit, nowMs)) return false;
  endpoint.circuit = circuitAtStart(endpoint.circuit);
  return true;
}

/** Forgets how it has answered. A try that is under way does not count any more. */
export function forgetAnswers(endpoint: Endpoint): void {
  endpoint.url = undefined;
  endpoint.circuit = CLOSED_CIRCUIT;
}

/** `isSuccess` is undefined if the try says nothing about the endpoint. */
export function endTry(
  endpoint: Endpoint,
  url: string,
  isSuccess: boolean | undefined,
  nowMs: number,
): void {
  if (endpoint.url !== url) return;
  endpoint.circuit = isSuccess === undefined
    ? { ...endpoint.circuit, isProbing: false }
    : circuitAfter(endpoint.circuit, isSuccess, nowMs);
}
