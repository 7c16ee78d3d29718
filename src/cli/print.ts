/**
 * What commands tell people, past the runtime's console: `OTEL_DENO_CONSOLE=replace` sends that
 * away instead of showing it, which is for the log of the server and not for a token.
 */

const encoder = new TextEncoder();

/** One or more lines on standard output. */
export function print(text: string): void {
  writeAll(Deno.stdout, text);
}

/** The same on standard error. */
export function complain(text: string): void {
  writeAll(Deno.stderr, text);
}

function writeAll(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = encoder.encode(`${text}\n`);
  for (let at = 0; at < bytes.length;) at += to.writeSync(bytes.subarray(at));
}
