/** A world for the client whose network is a script, and whose pauses take no time. */

import type { World } from "@daybook/client";

/** What the network does with one request: answers it, or throws. */
export type Turn = (request: SentRequest) => Response | Promise<Response>;

export interface SentRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

export interface ScriptedWorld extends World {
  /** Every request that was sent, in order. */
  readonly sent: readonly SentRequest[];
  /** The pauses that ended, in milliseconds; those of timeouts that were not needed are not. */
  readonly pausesMs: readonly number[];
}

/** Takes the turns one after the other; the last one again and again. */
export function scriptedWorld(turns: readonly Turn[], random = () => 0.5): ScriptedWorld {
  const sent: SentRequest[] = [];
  const pausesMs: number[] = [];
  let keys = 0;
  let nowMs = 0;
  return {
    sent,
    pausesMs,
    random,
    now: () => nowMs,
    newIdempotencyKey: () => `key-${++keys}`,
    // At the next turn of the event loop: an answer that is there by then was in time.
    after(ms, run) {
      const timer = setTimeout(() => {
        pausesMs.push(ms);
        nowMs += ms;
        run();
      });
      return () => clearTimeout(timer);
    },
    async fetch(url, { method, headers, body, signal }) {
      const request: SentRequest = {
        url,
        method: method!,
        headers: headers as Record<string, string>,
        body: body === undefined ? undefined : JSON.parse(body as string),
        signal: signal!,
      };
      const turn = turns[Math.min(sent.length, turns.length - 1)]!;
      sent.push(request);
      return await turn(request);
    },
  };
}

/** Answers as the server does. */
export function answers(status: number, body: unknown, headers: Record<string, string> = {}): Turn {
  return () =>
    new Response(status === 204 ? null : JSON.stringify(body), {
      status,
      headers: { "content-type": "application/json", "x-request-id": "r1", ...headers },
    });
}

/** Fails as `fetch` does when nobody listens. */
export function refuses(message = "Connection refused"): Turn {
  return () => Promise.reject(new TypeError(message));
}

/** Never answers; fails when the request is aborted. */
export function hangs(): Turn {
  return ({ signal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
