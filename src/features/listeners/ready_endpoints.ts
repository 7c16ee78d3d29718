/**
 * The endpoints whose lanes wait for a place. Instances take turns, and so do the endpoints of
 * each.
 *
 * There may be very many of them, and the next one is looked for after every try. Whoever has no
 * try under way may always begin one while a place is free. So a look passes over instances and
 * endpoints with tries under way alone, which are few.
 */

import { allowsAnother, allowsInstance } from "../../domain/listener/circuit.ts";
import type { Endpoint, Owner } from "./delivery_endpoints.ts";

export interface ReadyEndpoints {
  /** The endpoint has a waiting lane. It comes behind the others of its instance. */
  add(endpoint: Endpoint): void;
  /**
   * Takes the endpoint that may begin its next lane now; undefined if none may. `underWay` is the
   * number of tries under way across all listeners.
   */
  take(underWay: number): Endpoint | undefined;
}

export function openReadyEndpoints(): ReadyEndpoints {
  /** By instance, the least recently served first, and so are the endpoints of each. */
  const lines = new Map<Owner, Set<Endpoint>>();

  function add(endpoint: Endpoint): void {
    const line = lines.get(endpoint.owner);
    if (line === undefined) lines.set(endpoint.owner, new Set([endpoint]));
    else line.add(endpoint);
  }

  function take(underWay: number): Endpoint | undefined {
    if (!allowsAnother(0, underWay)) return undefined;
    for (const [owner, line] of lines) {
      if (!allowsInstance(owner.underWay, underWay)) continue;
      const endpoint = takeFrom(owner, line, underWay);
      if (line.size === 0) lines.delete(owner);
      if (endpoint === undefined) continue;
      if (lines.delete(owner)) lines.set(owner, line);
      return endpoint;
    }
    return undefined;
  }

  function takeFrom(owner: Owner, line: Set<Endpoint>, underWay: number): Endpoint | undefined {
    for (const endpoint of line) {
      // Its instance may have become known since.
      const isMoved = endpoint.owner !== owner;
      if (!isMoved && !allowsAnother(endpoint.underWay, underWay)) continue;
      line.delete(endpoint);
      // It may be in both lines.
      if (endpoint.waiting.length === 0) continue;
      if (!isMoved) return endpoint;
      add(endpoint);
    }
    return undefined;
  }

  return { add, take };
}
