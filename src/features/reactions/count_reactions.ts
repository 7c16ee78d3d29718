/** Counts what is pending in one environment, up to limits. See docs/reference/pending.md. */

import { openPieces } from "../../domain/fairness/pieces.ts";
import type { PendingCounts } from "../../domain/reaction/pending.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  MEASURED_GROUPS,
  type MeasuredPage,
  type MeasuredPlace,
  measureReactions,
} from "../../store/reactions/pending_reactions.ts";

/** What is counted of each group of sources, give or take a page: their number, and bytes. */
const COUNTED_MAX = 2_000;
const COUNTED_BYTES_MAX = 16 * 1024 * 1024;

export async function countReactions(
  engine: Engine,
  host: Host,
  tenant: number,
): Promise<PendingCounts> {
  const counts = {
    implied: newCount(),
    scheduled: newCount(),
    saga: newCount(),
    delivery: newCount(),
  };
  const pieces = openPieces(host);
  let oldestMs = Infinity;
  for (const group of MEASURED_GROUPS) {
    let place: MeasuredPlace | undefined = { source: 0 };
    let [number, size] = [0, 0];
    while (place !== undefined) {
      await pieces.rest();
      const at: MeasuredPlace = place;
      const page: MeasuredPage = await engine.snapshot((tx) =>
        measureReactions(tx, tenant, group, at)
      );
      if (number >= COUNTED_MAX || size >= COUNTED_BYTES_MAX) {
        if (page.measured.length > 0) {
          for (const kind of group.kinds) counts[kind].is_more = true;
        }
        break;
      }
      for (const { kind, bytes, sinceMs = Infinity } of page.measured) {
        counts[kind].count++;
        counts[kind].bytes += bytes;
        size += bytes;
        oldestMs = Math.min(oldestMs, sinceMs);
      }
      number += page.measured.length;
      place = page.next;
    }
  }
  return { ...counts, oldest: oldestMs === Infinity ? null : new Date(oldestMs).toISOString() };
}

function newCount(): { count: number; bytes: number; is_more: boolean } {
  return { count: 0, bytes: 0, is_more: false };
}
