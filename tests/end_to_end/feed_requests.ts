/** Requests to the feed that take more than a path. */

import type { World } from "./world.ts";

/** The cursor of a reader who has read more than a restored store has. */
export async function beyondFeed(world: World): Promise<[path: string]> {
  const { body } = await world.send("GET", "/_feed?from=now");
  const next = body.next as string;
  return [`/_feed?from=${next.slice(0, 4)}ff${next.slice(6)}`];
}
