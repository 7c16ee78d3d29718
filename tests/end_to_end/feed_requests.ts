/** Requests to the feed that take more than a path. */

import type { World } from "./world.ts";

/** The cursor of a reader who has read more than a restored store has. */
export async function beyondFeed(world: World): Promise<[path: string]> {
  const { body } = await world.send("GET", "/_feed?from=now");
  const next = body.next as string;
  return [`/_feed?from=${next.slice(0, 4)}ff${next.slice(6)}`];
}

/** A long poll of a state that does not come; the test's clock goes on while it waits. */
export function waitForNothing({ host }: World): [path: string] {
  let leftMs = 2_000;
  const timer = setInterval(() => {
    host.timeMs += 100;
    leftMs -= 100;
    if (leftMs === 0) clearInterval(timer);
  }, 5);
  return ["/order/0RDER0404?live=long-poll&wait=1"];
}
