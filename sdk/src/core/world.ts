/** What the client needs of the outside world: the runtime's, or what a test passes. */

/**
 * The clock, chance and the network, as the client uses them.
 *
 * ```ts
 * import { createClient, type World } from "@daybook/client";
 * const world: Partial<World> = { random: () => 0.5, newIdempotencyKey: () => "one" };
 * const db = createClient({ url: "http://127.0.0.1:8002", world });
 * console.log(db.order!("main").$key);
 * ```
 */
export interface World {
  /** Sends a request, as the `fetch` of the web does. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  /** At least 0 and less than 1. Spreads the pauses between tries. */
  readonly random: () => number;
  /** Runs a function after a time, unless the function that it returns is called before. */
  readonly after: (ms: number, run: () => void) => () => void;
  /** A new idempotency key: 1 to 255 printable ASCII characters that nobody else draws. */
  readonly newIdempotencyKey: () => string;
}

export const RUNTIME_WORLD: World = {
  // Looked up at each call, so that what replaces it later is used.
  fetch: (url, init) => fetch(url, init),
  now: () => performance.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  newIdempotencyKey,
};

/** `crypto.randomUUID` is missing on pages that were not loaded over HTTPS. */
function newIdempotencyKey(): string {
  if (crypto.randomUUID !== undefined) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Waits; false if the signal ended the wait. */
export function sleep(world: World, ms: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve(false);
    const end = (isOver: boolean) => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      resolve(isOver);
    };
    const onAbort = () => end(false);
    const cancel = world.after(ms, () => end(true));
    signal?.addEventListener("abort", onAbort);
  });
}
