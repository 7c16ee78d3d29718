/**
 * The receiver of a crash run: an HTTP server in this process, which outlives all killed
 * servers. It records every request, answers most of them with 200, some late and some with an
 * error.
 */

import type { Random } from "./random.ts";

export interface Receipt {
  readonly id: string;
  readonly listener: string;
  readonly attempt: number;
  readonly key: string;
  readonly streamId: string;
  readonly hash: string;
  /** The status it was answered with; the kill may have cut the answer off. */
  readonly status: number;
}

export interface DeliverySink {
  readonly url: string;
  /** In the order in which they arrived. */
  readonly receipts: readonly Receipt[];
  close(): Promise<void>;
}

const LATE_SHARE = 0.2;
const LATE_MS_MAX = 20;
const FAILED_SHARE = 0.003;

export function openDeliverySink(random: Random): DeliverySink {
  const receipts: Receipt[] = [];

  async function answer(request: Request): Promise<Response> {
    const { id, listener, attempt, event } = await request.json();
    // A failure holds up its stream for five seconds; a hot stream would never be finished.
    const mayFail = attempt === 1 && !event.key.endsWith(":global");
    const status = mayFail && random.chance(FAILED_SHARE) ? 500 : 200;
    const { key, id: streamId, hash } = event;
    receipts.push({ id, listener, attempt, key, streamId, hash, status });
    if (random.chance(LATE_SHARE)) await pause(random.below(LATE_MS_MAX));
    return new Response(null, { status });
  }

  const options = { hostname: "127.0.0.1", port: 0, onListen() {}, onError: cutOff };
  const server = Deno.serve(options, answer);
  return {
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    receipts,
    close: () => server.shutdown(),
  };
}

/** The kill has cut a request off: nothing of it has arrived. */
function cutOff(): Response {
  return new Response(null, { status: 400 });
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
