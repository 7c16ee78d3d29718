/**
 * Prints what commands tell people, bypassing the runtime's console.
 * `OTEL_DENO_CONSOLE=replace` sends console output to telemetry instead of showing it. That is
 * meant for the server's log, not for a token.
 */

const encoder = new TextEncoder();

/** Prints one or more lines on standard output. */
export function print(text: string): void {
  writeAll(Deno.stdout, text);
}

/** Prints one or more lines on standard error. */
export function complain(text: string): void {
  writeAll(Deno.stderr, text);
}

function writeAll(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = encoder.encode(`${text}\n`);
  for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
}
