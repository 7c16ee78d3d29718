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

interface Writer {
  writeSync(bytes: Uint8Array): number;
}

function writeAll(to: Writer, text: string): void {
  printPart(to, `${text}\n`);
}

/** Prints text without a line end. Ends the process if nobody reads on, as in `... | head`. */
export function printPart(to: Writer, text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    throw error;
  }
}
