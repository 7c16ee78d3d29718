/**
 * The yardstick for calls to another process: bytes sent to a bare process and back. They go
 * through the same kind of pipes, and nothing is done with them there. Run as a program, this
 * file is that process.
 */

import { fileURLToPath } from "node:url";

const PIECE_BYTES = 64 * 1024;

/** The time of each round trip, in milliseconds. */
export async function measureEcho(bytes: number, forMs: number): Promise<number[]> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-remote", fileURLToPath(import.meta.url)],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const input = child.stdin.getWriter();
  const output = child.stdout.getReader();
  const piece = new Uint8Array(bytes);
  const times: number[] = [];
  async function roundTrip(): Promise<void> {
    await input.write(piece);
    for (let left = bytes; left > 0;) {
      const { value, done } = await output.read();
      if (done) throw new Error("the echo has ended");
      left -= value.length;
    }
  }
  await roundTrip();
  const endsMs = performance.now() + forMs;
  for (let nowMs = performance.now(); nowMs < endsMs;) {
    await roundTrip();
    const thenMs = performance.now();
    times.push(thenMs - nowMs);
    nowMs = thenMs;
  }
  await input.close();
  await output.cancel();
  await child.status;
  return times;
}

function echo(): void {
  const piece = new Uint8Array(PIECE_BYTES);
  for (;;) {
    const count = Deno.stdin.readSync(piece);
    if (count === null) return;
    for (let sent = 0; sent < count;) sent += Deno.stdout.writeSync(piece.subarray(sent, count));
  }
}

if (import.meta.main) echo();
