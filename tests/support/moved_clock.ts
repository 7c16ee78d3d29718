/**
 * Loaded into a real server before anything of it (`--preload`): its clock is ahead of the
 * machine's by as many milliseconds as a file says, and jumps when the file changes. Nothing of the
 * server knows. Timers go by a clock that only goes forward, as they do when an operator sets the
 * time.
 */

const LOOK_MS = 5;
const path = Deno.env.get("TEST_CLOCK_FILE")!;
const { Date: RealDate } = globalThis;
const { now } = RealDate;

let aheadMs = readAhead() ?? 0;
Deno.unrefTimer(setInterval(() => aheadMs = readAhead() ?? aheadMs, LOOK_MS));

/** Undefined while it is being written. */
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
