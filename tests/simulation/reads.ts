/** What clients read over HTTP between their writes; each answer is kept for the judge. */

import type { Random } from "../crash/random.ts";
import { ask, type ClientWorld } from "./clients.ts";
import type { HttpEntrance } from "./http_entrance.ts";

const STREAMS = ["order/a", "order/a", "order/b", "ledger/a", "payment/a"];
const PAGE_MAX = 4;

export async function readOnce(
  world: ClientWorld,
  entrance: HttpEntrance,
  random: Random,
): Promise<void> {
  const path = drawPath(random);
  const fromVersion = world.version();
  const reply = await ask(world, random, (node) => entrance.get(node, path));
  if (reply === undefined) return;
  const { status, body } = reply;
  world.journal.reads.push({ path, fromVersion, toVersion: world.version(), status, body });
}

function drawPath(random: Random): string {
  const stream = random.pick(STREAMS);
  const drawn = random.below(10);
  if (drawn < 2) return `/${stream}/length`;
  if (drawn < 6) return `/${stream}${random.pick(["", "", "?synchronous=true"])}`;
  if (drawn < 7) return `/order?limit=${1 + random.below(PAGE_MAX)}`;
  if (drawn < 8) return `/${stream}/audit/attestation/${random.below(PAGE_MAX)}`;
  const start = String(random.below(PAGE_MAX)).padStart(12, "0");
  const from = random.chance(0.5) ? `&start=${start}` : "";
  return `/${stream}/events?raw=true&count=${1 + random.below(PAGE_MAX)}${from}`;
}
