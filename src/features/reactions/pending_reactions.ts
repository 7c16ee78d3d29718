/** Lists the pending work that events of an environment have set off, for operators. */

import { type ListPage, listPage, pageLimit } from "../../domain/list_page.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import type { PendingCount, PendingCounts, PendingView } from "../../domain/reaction/pending.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { listTenantDeliveries } from "../../store/listeners/deliveries.ts";
import { readPause } from "../../store/reactions/paused_reactions.ts";
import {
  listPending,
  PENDING_SOURCES,
  type PendingPage,
  type PendingPlace,
} from "../../store/reactions/pending_reactions.ts";
import { openPendingPlace, sealPendingPlace } from "./pending_place.ts";

/** The state of an environment, and a page of its pending reactions. */
export interface PendingReactions extends ListPage<PendingView> {
  readonly paused: boolean;
  /** Since when and by whom it is paused; absent if it is not. */
  readonly paused_since?: string;
  readonly paused_by?: string;
  readonly pending: PendingCounts;
}

/** How many entries of each source are counted at most, and how many are read at a time. */
const COUNTED_MAX = 2_000;
const PAGE = 100;

export async function readPendingReactions(
  engine: Engine,
  host: Host,
  { number }: Tenant,
  { start, limit }: PageRequest,
): Promise<Outcome<PendingReactions>> {
  const from = start === undefined ? PENDING_SOURCES[0] : openPendingPlace(start);
  if (from === undefined) {
    return refuse({ kind: "bad_request", path: "start", message: "start is not of this list" });
  }
  const pause = await engine.snapshot((tx) => readPause(tx, number));
  const isPaused = pause?.state === "paused";
  const page = await readPage(engine, host, number, from, pageLimit(limit));
  return accept({
    ...listPage(page.views, limit, page.next && sealPendingPlace(page.next)),
    paused: isPaused,
    ...(isPaused && { paused_since: pause.since, paused_by: pause.by }),
    pending: await countPending(engine, host, number),
  });
}

async function readPage(
  engine: Engine,
  host: Host,
  tenant: number,
  from: PendingPlace,
  limit: number,
): Promise<{ readonly views: readonly PendingView[]; readonly next: PendingPlace | undefined }> {
  const pieces = openPieces(host);
  const views: PendingView[] = [];
  let place: PendingPlace | undefined = from;
  while (place !== undefined) {
    await pieces.rest();
    const at: PendingPlace = place;
    const page: PendingPage = await engine.snapshot((tx) => listPending(tx, tenant, at, PAGE));
    for (const piece of page.pieces) {
      // One more than the page holds proves that something follows.
      if (views.length === limit) return { views, next: place };
      views.push(piece.view);
      place = piece.place;
    }
    place = page.next;
  }
  return { views, next: undefined };
}

async function countPending(engine: Engine, host: Host, tenant: number): Promise<PendingCounts> {
  const counts = { implied: newCount(), scheduled: newCount(), saga: newCount() };
  const pieces = openPieces(host);
  let oldest: string | null = null;
  for (const first of PENDING_SOURCES) {
    let place: PendingPlace | undefined = first;
    let counted = 0;
    while (place?.source === first.source && counted < COUNTED_MAX) {
      await pieces.rest();
      const at: PendingPlace = place;
      const page: PendingPage = await engine.snapshot((tx) => listPending(tx, tenant, at, PAGE));
      for (const { view, bytes } of page.pieces) {
        counts[view.kind].count++;
        counts[view.kind].bytes += bytes;
        if (oldest === null || view.since < oldest) oldest = view.since;
      }
      counted += page.pieces.length;
      place = page.next;
    }
    if (place?.source !== first.source || counted < COUNTED_MAX) continue;
    if (first.source === "outbox") counts.implied.is_more = counts.saga.is_more = true;
    else counts[first.source === "sagas" ? "saga" : "scheduled"].is_more = true;
  }
  return { ...counts, delivery: await countDeliveries(engine, tenant), oldest };
}

async function countDeliveries(engine: Engine, tenant: number): Promise<PendingCount> {
  const found = await engine.snapshot((tx) =>
    listTenantDeliveries(tx, tenant, undefined, COUNTED_MAX + 1)
  );
  const counted = found.slice(0, COUNTED_MAX);
  const bytes = counted.reduce((sum, { delivery }) => sum + JSON.stringify(delivery).length, 0);
  return { count: counted.length, bytes, is_more: found.length > COUNTED_MAX };
}

function newCount(): { count: number; bytes: number; is_more: boolean } {
  return { count: 0, bytes: 0, is_more: false };
}
