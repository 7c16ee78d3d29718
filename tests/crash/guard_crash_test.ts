/** Sixty-four writers sell exactly the stock, of a server that is killed again and again. */

import { runGuardCrashes } from "./guard_crashes.ts";

const rounds = Number(Deno.env.get("GUARD_ROUNDS") ?? 4);
const seed = Number(Deno.env.get("GUARD_SEED") ?? Date.now() % 1_000_000);

Deno.test("sixty-four writers sell exactly the stock through kills of their server", async () => {
  console.log(`repeat with GUARD_SEED=${seed}`);
  await runGuardCrashes({ seed, rounds, nodes: 1 });
});
