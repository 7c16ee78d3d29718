/**
 * What a process keeps in memory of each listener that it delivers to: the lanes that come next,
 * what is under way, and how its endpoint has answered. All of it is bounded, and the store has the
 * rest: whatever is forgotten here is found again by its mark.
 */

import {
  allowsTry,
  type Circuit,
  circuitAfter,
  circuitAtStart,
  CLOSED_CIRCUIT,
} from "../domain/listener/circuit.ts";
import { allowsAnother, allowsInstance } from "../domain/listener/bulkhead.ts";
import type { Lane } from "../domain/listener/delivery.ts";
import type { StreamKey } from "../domain/stream_key.ts";

/** An instance: its environments share what may be under way. */
interface Owner {
  readonly name: string;
  underWay: number;
  endpoints: number;
}

export interface Endpoint {
  readonly tenant: number;
  readonly listener: string;
  /** Lanes that come next; {@link LANES_AHEAD} at most. */
  readonly waiting: Lane[];
  underWay: number;
  owner: Owner;
  /** Of the address it stands for: another address is another endpoint. */
  circuit: Circuit;
  url: string | undefined;
  /** There may be marked lanes that are not here. */
  hasMore: boolean;
  /** Where in each shard its next lanes are looked for; none: at the first. */
  readonly cursors: Map<number, StreamKey>;
  /** While it is left alone, its lanes are looked at from then on for what has grown too old. */
  looksMs: number;
}

export interface Endpoints {
  open(tenant: number, listener: string): Endpoint;
  find(tenant: number, listener: string): Endpoint | undefined;
  all(): Iterable<Endpoint>;
  /** Forgets one of which there is nothing to know. */
  closeIdle(endpoint: Endpoint): void;
}

/** Lanes of one listener that a process has ready, so that each end of a try is a new beginning. */
export const LANES_AHEAD = 64;
/** How often the lanes of an endpoint that is left alone are looked at. */
const LOOK_MS = 250;

/** `instanceOf` tells whose environment it is, by its number. */
export function openEndpoints(
  instanceOf: (tenant: number) => string | Promise<string>,
): Endpoints {
  const known = new Map<string, Endpoint>();
  /** Of instances that have endpoints here; of a tenant, until the store has told whose it is. */
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
      if (known.get(nameOf(tenant, listener)) !== endpoint) return;
      leave(endpoint);
      join(endpoint, name);
    };
    instance.then(move, () => {});
    return endpoint;
  }

  return {
    open(tenant, listener) {
      const name = nameOf(tenant, listener);
      let endpoint = known.get(name);
      if (endpoint === undefined) known.set(name, endpoint = create(tenant, listener));
      return endpoint;
    },
    find: (tenant, listener) => known.get(nameOf(tenant, listener)),
    all: () => known.values(),
    closeIdle(endpoint) {
      const { waiting, underWay, circuit, hasMore } = endpoint;
      const isIdle = waiting.length === 0 && underWay === 0 && !hasMore;
      if (!isIdle || circuit.failuresInRow > 0) return;
      known.delete(nameOf(endpoint.tenant, endpoint.listener));
      leave(endpoint);
    },
  };
}

function nameOf(tenant: number, listener: string): string {
  return `${tenant}/${listener}`;
}

/** Until it joins one. */
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

/** How many more lanes are worth reading from the store: in one go, or none. */
export function roomOf({ waiting, circuit, looksMs }: Endpoint, nowMs: number): number {
  if (!allowsTry(circuit, nowMs) && nowMs < looksMs) return 0;
  return 2 * waiting.length > LANES_AHEAD ? 0 : LANES_AHEAD - waiting.length;
}

/** They are read now. */
export function noteLook(endpoint: Endpoint, nowMs: number): void {
  endpoint.looksMs = nowMs + LOOK_MS;
}

/** Whether a lane that waits may begin, where so many of all listeners are under way. */
export function mayBegin({ waiting, underWay, owner }: Endpoint, all: number): boolean {
  return waiting.length > 0 && allowsAnother(underWay, all) && allowsInstance(owner.underWay, all);
}

/** One more of the endpoint is under way; or one less. */
export function noteUnderWay(endpoint: Endpoint, change: 1 | -1): void {
  endpoint.underWay += change;
  endpoint.owner.underWay += change;
}

/** Whether a try at `url` may begin now; where it may, it has begun. */
export function beginTry(endpoint: Endpoint, url: string, nowMs: number): boolean {
  if (endpoint.url !== url) {
    endpoint.url = url;
    endpoint.circuit = CLOSED_CIRCUIT;
  }
  if (!allowsTry(endpoint.circuit, nowMs)) return false;
  endpoint.circuit = circuitAtStart(endpoint.circuit);
  return true;
}

/** `isSuccess`: undefined where the try has told nothing. */
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
