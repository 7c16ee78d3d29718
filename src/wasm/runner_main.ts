/**
 * The program of a runner: requests come in on standard input, answers go out on standard output,
 * one at a time. It has no permissions, no environment and no event loop: it waits in `readSync`.
 * It ends with its input, that is, with the process that started it; whatever else goes wrong ends
 * it too, and the pool starts another one.
 */

import { encodeFrame, frameReader } from "./frame.ts";
import type { RunnerRequest, RunnerResult } from "./messages.ts";
import { newRunner } from "./run_requests.ts";

const PIECE_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);
const READY: RunnerResult = { kind: "ready" };

function write(bytes: Uint8Array): void {
  for (let sent = 0; sent < bytes.length;) sent += Deno.stdout.writeSync(bytes.subarray(sent));
}

function serve(): void {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect !== "function") throw new Error("started without --expose-gc");
  const runner = newRunner({
    collect: () => collect(),
    residentBytes: () => Deno.memoryUsage().rss,
    nowMs: () => performance.now(),
  });
  const requests = frameReader<RunnerRequest>();
  const piece = new Uint8Array(PIECE_BYTES);
  const ready = encodeFrame({ ...READY, tookMs: 0, pauses: false }, NOTHING);
  write(ready);
  for (;;) {
    const count = Deno.stdin.readSync(piece);
    if (count === null) return;
    requests.push(piece.subarray(0, count));
    for (let request = requests.next(); request !== undefined; request = requests.next()) {
      const answer = runner.answer(request);
      write(encodeFrame(answer.message, answer.body));
      if (!answer.message.pauses) continue;
      runner.cleanUp();
      write(ready);
    }
  }
}

serve();
