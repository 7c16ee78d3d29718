/** The program of a WebAssembly runner. It has no permissions. */

import { serveRequests } from "../runners/serve_requests.ts";
import { newRunner } from "./run_requests.ts";

function main(): void {
  const collect: unknown = Reflect.get(globalThis, "gc");
  if (typeof collect !== "function") throw new Error("started without --expose-gc");
  serveRequests(newRunner({
    collect: () => collect(),
    residentBytes: () => Deno.memoryUsage().rss,
    nowMs: () => performance.now(),
  }));
}

main();
