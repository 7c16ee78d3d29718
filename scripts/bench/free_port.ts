/** Ports for the processes that a bench starts beside the server. */

import { openConnection } from "./http_connection.ts";

const TRIES = 500;
const PAUSE_MS = 10;

/** A port on which nothing listens. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

/**
 * Resolves as soon as something listens on the port.
 * @throws {Error} if nothing does within 5 s.
 */
export async function untilOpen(port: number): Promise<void> {
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      return (await openConnection(port)).close();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  throw new Error(`nobody listens on port ${port}`);
}
