/**
 * Whose password is looked at next. A look costs a quarter second of a core and 32 MiB, and anybody
 * may ask for one, so few run at once. Addresses take turns: one that asks a thousand times waits
 * for itself. Those from which an account's owner has logged in before have turns of their own, so
 * that owners get in however many strangers ask.
 */

import { limits } from "../domain/limits.ts";
import { addAt, newRateWindow, type RateWindow, roomInMs } from "../domain/rate.ts";
import { createRecentMap } from "../domain/recent_map.ts";

export interface LoginGate {
  /** How long the address must wait for its failed logins, in ms; 0 where it need not. */
  lockedMs(network: string, nowMs: number): number;
  /** Resolves to true when it is the address's turn, to false where too many wait. */
  enter(network: string, isKnown: boolean): Promise<boolean>;
  /** Ends the turn. */
  leave(): void;
  /** A login from the address has failed. `nowMs` of a clock that only goes forward. */
  countFailed(network: string, nowMs: number): void;
}

const RUNNING_MAX = 2;
const WAITING_MAX = 256;
const WAITING_PER_ADDRESS_MAX = 8;
const ADDRESSES_MAX = 10_000;
const BUCKET_MS = 5_000;

type Waiter = (mayGo: boolean) => void;

/** Waiters by address; the addresses in the order of their turns. */
interface Queue {
  readonly byNetwork: Map<string, Waiter[]>;
  count: number;
}

export function createLoginGate(): LoginGate {
  const failed = createRecentMap<string, RateWindow>(ADDRESSES_MAX);
  const strangers: Queue = { byNetwork: new Map(), count: 0 };
  const known: Queue = { byNetwork: new Map(), count: 0 };
  let running = 0;
  /** The two queues take turns too. */
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

/** Of the address whose turn it is, which then is the last in line. */
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

/** Where all is full, the last one goes of the address that has most, if it has more than this. */
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
