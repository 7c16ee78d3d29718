/**
 * Decides whose password is checked next. A check costs a quarter of a second of CPU and 32
 * MiB, and anybody can cause one, so few run at once. Addresses take turns, so an address that
 * asks a thousand times only delays itself. Addresses from which an account's owner has logged
 * in before have a queue of their own, so owners get in however many strangers ask.
 */

import { limits } from "../../domain/limits.ts";
import { addAt, newRateWindow, type RateWindow, roomInMs } from "../../domain/limits/rate.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";

export interface LoginGate {
  /** How many milliseconds the address must wait because of its failed logins; 0 if it need not. */
  lockedMs(network: string, nowMs: number): number;
  /** Resolves to true when it is the address's turn, to false if too many wait. */
  enter(network: string, isKnown: boolean): Promise<boolean>;
  /** Ends the turn. */
  leave(): void;
  /** Counts a failed login from the address. `nowMs` is monotonic time. */
  countFailed(network: string, nowMs: number): void;
}

const RUNNING_MAX = 2;
const WAITING_MAX = 256;
const WAITING_PER_ADDRESS_MAX = 8;
const ADDRESSES_MAX = 10_000;
const BUCKET_MS = 5_000;

type Waiter = (mayGo: boolean) => void;

/** Waiters by address; the map's order is the order of the turns. */
interface Queue {
  readonly byNetwork: Map<string, Waiter[]>;
  count: number;
}

export function createLoginGate(): LoginGate {
  const failed = createRecentTexts<RateWindow>(ADDRESSES_MAX);
  const strangers: Queue = { byNetwork: new Map(), count: 0 };
  const known: Queue = { byNetwork: new Map(), count: 0 };
  let running = 0;
  /** The two queues alternate as well. */
  let wasKnown = false;

  function next(): Waiter | undefined {
    const [first, second] = wasKnown ? [strangers, known] : [known, strangers];
    const queue = first.count > 0 ? first : second;
    wasKnown = queue === known;
    return takeNext(queue);
  }

  return {
    lockedMs(network, nowMs) {
      const window = failed.get(network);
      return window === undefined
        ? 0
        : roomInMs(window, nowMs, limits.failedLoginsOfAddressPerMinuteMax);
    },
    enter(network, isKnown) {
      if (running < RUNNING_MAX) {
        running++;
        return Promise.resolve(true);
      }
      const queue = isKnown ? known : strangers;
      return new Promise((resolve) => {
        if (!makeRoom(queue, network)) return resolve(false);
        const waiting = queue.byNetwork.get(network);
        if (waiting === undefined) queue.byNetwork.set(network, [resolve]);
        else waiting.push(resolve);
        queue.count++;
      });
    },
    leave() {
      const waiter = next();
      if (waiter === undefined) running--;
      else waiter(true);
    },
    countFailed(network, nowMs) {
      let window = failed.get(network);
      if (window === undefined) failed.set(network, window = newRateWindow(BUCKET_MS));
      addAt(window, nowMs);
    },
  };
}

/** Takes a waiter of the address whose turn it is and moves that address to the end. */
function takeNext(queue: Queue): Waiter | undefined {
  const [first] = queue.byNetwork;
  if (first === undefined) return undefined;
  const [network, waiting] = first;
  const waiter = waiting.shift()!;
  queue.count--;
  queue.byNetwork.delete(network);
  if (waiting.length > 0) queue.byNetwork.set(network, waiting);
  return waiter;
}

/**
 * Makes room in a full queue by refusing the last waiter of the address that has most, provided
 * it has more than this address would have.
 */
function makeRoom(queue: Queue, network: string): boolean {
  const { byNetwork, count } = queue;
  const own = byNetwork.get(network)?.length ?? 0;
  if (own >= WAITING_PER_ADDRESS_MAX) return false;
  if (count < WAITING_MAX) return true;
  let most: Waiter[] = [];
  for (const waiting of byNetwork.values()) if (waiting.length > most.length) most = waiting;
  if (most.length <= own + 1) return false;
  most.pop()!(false);
  queue.count--;
  return true;
}
