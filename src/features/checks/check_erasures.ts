/**
 * Checks the evidence of erasures: receipts against their requests, and markers in the streams.
 *
 * A receipt must be signed and must match its request, and the stream must begin with as many
 * markers. A proven erasure explains why a stream no longer matches older anchors.
 */

import { verifyReceipt } from "../../domain/erasure/receipt.ts";
import { isErasureOver, type Tombstone } from "../../domain/erasure/tombstone.ts";
import type { Engine } from "../../kv/engine.ts";
import { findOpenTombstone, walkTombstones } from "../../store/tombstones.ts";
import type { WalkedStream } from "./check_streams.ts";
import type { Report } from "./report.ts";

/** The owner that the receipts must belong to. */
export interface ReceiptOwner {
  readonly publicKeys: ReadonlySet<string>;
}

export interface FoundErasures {
  /** Streams whose erasure is running. */
  readonly rewriting: ReadonlySet<string>;
  /** The result of each erasure that took place, oldest first. */
  readonly done: readonly (Required<Pick<Tombstone, "result">> & Tombstone)[];
}

const PAGE = 500;

export async function findErasures(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  owner: ReceiptOwner,
  report: Report,
): Promise<FoundErasures> {
  const rewriting = new Set<string>();
  const done: (Required<Pick<Tombstone, "result">> & Tombstone)[] = [];
  let after: string | undefined;
  for (let count = PAGE; count === PAGE;) {
    const page = await engine.snapshot((tx) => walkTombstones(tx, tenant, after, PAGE));
    for (const tombstone of page) {
      const { id, key, state, result } = tombstone;
      const open = await engine.snapshot((tx) => findOpenTombstone(tx, tenant, key));
      if (!isErasureOver(tombstone) && open !== id) {
        report(id, "is open, but not found by its stream");
      }
      if (state === "running") rewriting.add(key);
      if (state === "completed") checkReceipt(tombstone, owner, report);
      if (result !== undefined) done.push({ ...tombstone, result });
    }
    count = page.length;
    after = page.at(-1)?.id;
  }
  return { rewriting, done };
}

function checkReceipt(
  { id, key, result, receipt, imported }: Tombstone,
  { publicKeys }: ReceiptOwner,
  report: Report,
): void {
  if (receipt === undefined || result === undefined) return report(id, "has no receipt");
  const isOwn = imported === true || publicKeys.has(receipt.public_key);
  if (!isOwn || !verifyReceipt(receipt)) {
    report(id, "its receipt is not signed by the instance");
  }
  const isSame = receipt.tombstone_id === id && receipt.key === key &&
    receipt.tip === result.tip && receipt.event_count === result.event_count &&
    receipt.generation === result.generation;
  if (!isSame) report(id, "its receipt is of another erasure");
}

/** Checks that each stream has the markers that its erasures state. */
export function checkMarkers(
  { done }: FoundErasures,
  found: ReadonlyMap<string, WalkedStream>,
  report: Report,
): void {
  for (const { id, key, result: { generation, event_count, tip } } of done) {
    const walked = found.get(key);
    const isThere = walked !== undefined && walked.markers >= event_count &&
      walked.generation >= generation;
    // Markers stay unchanged when the stream is erased again, and so does the tip.
    if (isThere && walked.tips.get(event_count) === tip) continue;
    report(key, `has not the markers that ${id} speaks of`);
  }
}

/**
 * The number of erased events of each stream, by the results of its erasures. A result without
 * proof counts too; it has been reported as a fault.
 */
export function erasedLengths({ done }: FoundErasures): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const { key, result } of done) lengths.set(key, result.event_count);
  return lengths;
}
