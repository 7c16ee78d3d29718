/**
 * The loop of a runner's program. Requests come in on standard input and answers go out on
 * standard output, one at a time. It has no environment and no event loop: it waits in
 * `readSync`. It ends with its input, that is, with the process that started it. Any other
 * failure ends it too, and the pool starts another runner.
 */

import { encodeFrame, type Frame, frameReader } from "./frame.ts";
import type { AnswerMessage } from "./runner_process.ts";

/** Answers the requests to a runner. */
export interface RequestServer<Q, A extends AnswerMessage> {
  /** Never throws because of what users bring. */
  answer(request: Frame<Q>): Frame<A>;
  /** Called after an answer with `pauses`, before the next request is taken. */
  cleanUp(): void;
}

const PIECE_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);
const READY: AnswerMessage = { kind: "ready", tookMs: 0, pauses: false };

/** Returns when the input ends. */
export function serveRequests<Q, A extends AnswerMessage>(server: RequestServer<Q, A>): void {
  const requests = frameReader<Q>();
  const piece = new Uint8Array(PIECE_BYTES);
  const ready = encodeFrame(READY, NOTHING);
  write(ready);
  for (;;) {
    const count = Deno.stdin.readSync(piece);
    if (count === null) return;
    requests.push(piece.subarray(0, count));
    for (let request = requests.next(); request !== undefined; request = requests.next()) {
      const answer = server.answer(request);
      write(encodeFrame(answer.message, answer.body));
      if (!answer.message.pauses) continue;
      server.cleanUp();
      write(ready);
    }
  }
}

function write(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
}
