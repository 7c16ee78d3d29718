/**
 * Counts the requests under way. Admits as many as can be answered in time, and sheds the others
 * with 503. At the end of the process, all that were admitted are waited for.
 *
 * A request is shed before it is looked at, because shedding must cost next to nothing. Only its
 * key is: each instance has a few places of its own. Health and metrics are always admitted. See
 * docs/reference/limits.md.
 *
 * The 503 is delayed (`domain/limits/load.ts`). A client that is refused at once asks again at
 * once, on all its connections. The event loop would then be full of refusals, and admitted
 * requests would need many turns.
 */

import { openPlaces } from "../../domain/fairness/per_name.ts";
import {
  earnRefusal,
  enter,
  enterBeyond,
  leave,
  newLoadBound,
  newShedPace,
  RESERVED_EACH,
  RESERVED_MAX,
  tellRefusal,
  waitingHeavy,
} from "../../domain/limits/load.ts";
import type { Host } from "../../host.ts";
import type { Service } from "../../features/service.ts";
import { sendText } from "../answer.ts";
import { docsOf } from "../reply.ts";
import { late } from "../decode/body_bytes.ts";

export interface LoadGate {
  /** False: shed the request. True: call {@link LoadGate.leave} later with the time of entry. */
  enter(): boolean;
  /** For a request that was not let in: takes one of the few places of its instance instead. */
  enterReserved(instance: string): boolean;
  /** @param instance whose place it had, if it had one. */
  leave(enteredMs: number, nowMs: number, instance?: string): void;
  /** The answer to a shed request, after a delay. */
  shed(requestId: string): Response | Promise<Response>;
  measure(): LoadMeasure;
}

export interface LoadMeasure {
  readonly underWay: number;
  readonly underWayMax: number;
  /** The number of requests that were not admitted. */
  readonly shed: number;
}

export const SHED_STATUS = 503;
const RETRY_AFTER_SECONDS = "1";
/** How often the gate checks which delayed refusals are due. */
const TICK_MS = 50;
/** How many refusals may be delayed at a time; further ones are sent at once. */
const HELD_MAX = 10_000;
/** How many of them are told in one turn of the event loop: about two milliseconds of work. */
const TOLD_MAX = 50;
/** All requests shed within this time share one error record. */
const RECORD_MS = 1_000;
const MESSAGE = "Too many requests are under way";
const HINT = "Retry after 1 s, and later each time";

/** The answer to all requests shed within a second. */
interface ShedAnswer {
  readonly errorId: string;
  readonly json: string;
}

interface Held {
  readonly sinceMs: number;
  tell(): void;
}

export function createLoadGate(service: Pick<Service, "data">, host: Host): LoadGate {
  const bound = newLoadBound(host.monotonicMs());
  const places = openPlaces(RESERVED_EACH, RESERVED_MAX);
  const pace = newShedPace();
  /** In order of arrival. */
  const held = new Set<Held>();
  let isTicking = false;
  let shed = 0;
  let answer: ShedAnswer | undefined;
  let answerMs = 0;

  function makeAnswer(request_id: string): ShedAnswer {
    const context = { under_way: bound.underWay, shed };
    const record = { error_type: "unavailable", message: MESSAGE, request_id, context };
    const errorId = service.data.recordError(undefined, record);
    host.log("warn", MESSAGE, { error_id: errorId, ...context });
    const error_type = "unavailable";
    const docs = docsOf(error_type);
    const body = { ok: false, error: MESSAGE, error_type, hint: HINT, docs, context: {} };
    return { errorId, json: JSON.stringify({ ...body, error_id: errorId }) };
  }

  function refuse(requestId: string): Response {
    const nowMs = host.monotonicMs();
    if (answer === undefined || nowMs >= answerMs + RECORD_MS) {
      answer = makeAnswer(requestId);
      answerMs = nowMs;
    }
    return sendText(requestId, SHED_STATUS, answer.json, {
      "retry-after": RETRY_AFTER_SECONDS,
      "x-error-id": answer.errorId,
    });
  }

  function tick(): void {
    isTicking = false;
    const nowMs = performance.now();
    let told = 0;
    for (const one of held) {
      if (!tellRefusal(pace, nowMs - one.sinceMs)) break;
      held.delete(one);
      one.tell();
      if (++told === TOLD_MAX) break;
    }
    if (held.size > 0) tickLater(told === TOLD_MAX ? 0 : TICK_MS);
  }

  function tickLater(afterMs = TICK_MS): void {
    if (isTicking) return;
    isTicking = true;
    setTimeout(tick, afterMs);
  }

  return {
    enter: () => enter(bound, late.count + waitingHeavy.count),
    enterReserved(instance) {
      const hasPlace = places.enter(instance);
      if (hasPlace) enterBeyond(bound);
      return hasPlace;
    },
    leave(enteredMs, nowMs, instance) {
      leave(bound, enteredMs, nowMs);
      if (instance !== undefined) places.leave(instance);
      earnRefusal(pace);
    },
    shed(requestId) {
      shed++;
      if (held.size >= HELD_MAX) return refuse(requestId);
      return new Promise((resolve) => {
        held.add({ sinceMs: performance.now(), tell: () => resolve(refuse(requestId)) });
        tickLater();
      });
    },
    measure: () => ({ underWay: bound.underWay, underWayMax: bound.max, shed }),
  };
}

/**
 * After SIGTERM the process waits for the requests under way, including those whose bodies are
 * still arriving, because the runtime would cut them off. New requests are refused, so that
 * clients go to another process.
 */
export interface Drain {
  /** True once the process is to end. */
  isStopping(): boolean;
  /** Counts a new request. True: `stop` waits for it until {@link leave}; false after the stop. */
  enter(): boolean;
  /** Reports that a counted request has an answer, or has failed. */
  leave(): void;
  /** Calls `onStop` when the stop begins, unless the returned function is called before. */
  onStop(onStop: () => void): () => void;
  /** Begins the stop; resolves when all requests under way have been answered. */
  stop(): Promise<void>;
}

export function openDrain(): Drain {
  const idle = Promise.withResolvers<void>();
  let underWay = 0;
  let isStopping = false;
  const listeners = new Set<() => void>();

  return {
    isStopping: () => isStopping,
    onStop(onStop) {
      listeners.add(onStop);
      return () => void listeners.delete(onStop);
    },
    enter() {
      if (isStopping) return false;
      underWay++;
      return true;
    },
    leave() {
      underWay--;
      if (isStopping && underWay === 0) idle.resolve();
    },
    stop() {
      isStopping = true;
      for (const onStop of [...listeners]) onStop();
      if (underWay === 0) idle.resolve();
      return idle.promise;
    },
  };
}
