/**
 * Preloaded into a real server (`--preload`) to move its clock. The clock runs ahead of the
 * machine's by the milliseconds that a file names, and jumps when the file changes; the server
 * knows nothing of it. Timers keep following a monotonic clock, as they do when an operator
 * sets the time.
 */

const LOOK_MS = 5;
const path = Deno.env.get("TEST_CLOCK_FILE")!;
const { Date: RealDate } = globalThis;
const { now } = RealDate;

let aheadMs = readAhead() ?? 0;
Deno.unrefTimer(setInterval(() => aheadMs = readAhead() ?? aheadMs, LOOK_MS));

/** Returns undefined while the file is being written. */
function readAhead(): number | undefined {
  const text = Deno.readTextFileSync(path);
  return text.endsWith("\n") ? Number(text) : undefined;
}

function movedNow(): number {
  return now() + aheadMs;
}

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [movedNow()] : given, newTarget),
  get: (target, name) => name === "now" ? movedNow : Reflect.get(target, name),
});
