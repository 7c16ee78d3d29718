/** Readers of the feed of one server that is killed again and again. */

import { runFeedCrashes } from "./feed_crashes.ts";

const rounds = Number(Deno.env.get("FEED_ROUNDS") ?? 6);
const seed = Number(Deno.env.get("FEED_SEED") ?? Date.now() % 1_000_000);

Deno.test("over sockets that break, of a server that is killed, readers get each event in order", async () => {
  console.log(`repeat with FEED_SEED=${seed}`);
  await runFeedCrashes({ seed, rounds, nodes: 1 });
});
