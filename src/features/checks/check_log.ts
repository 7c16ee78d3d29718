/** Compares the commit log of an environment with the streams that were walked. */

import { FEED_START } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { hasLogged, type LogRecord, readLog } from "../../store/feed/commit_log.ts";
import { isFeedPrepared, readFill } from "../../store/feed/fill.ts";
import {
  countEntries,
  readCountedPlace,
  readTypeCounts,
  type TypeCount,
} from "../../store/feed/type_counts.ts";
import { readHeadNow, type WalkedStreams } from "./check_streams.ts";
import type { Report } from "./report.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

const LOG_PAGE = { limit: 1_000, bytesMax: 1024 * 1024 };

/**
 * The log must name each event once, and those of a stream in their order. Does nothing if the log
 * is still being filled in after an upgrade, or will be.
 */
export async function checkLog(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  { found }: WalkedStreams,
  report: Report,
): Promise<void> {
  if (await engine.snapshot((tx) => isIncomplete(tx, tenant))) return;
  // Read first: a cluster may count on meanwhile, but only further behind that place.
  const counted = await engine.snapshot(async (tx) => ({
    place: await readCountedPlace(tx, tenant),
    types: await readTypeCounts(tx, tenant),
  }));
  const types = new Map<string, TypeCount>();
  const logged = await walkLog(engine, tenant, ({ place, entries }) => {
    if (place <= counted.place) countEntries(types, entries);
  }, report);
  for (const type of new Set([...types.keys(), ...counted.types.keys()])) {
    const [told, found] = [counted.types.get(type), types.get(type)];
    if (told?.events === found?.events && told?.aggregates === found?.aggregates) continue;
    report(type, "the counts of the type are not those of the commit log");
  }
  for (const [stream, { length }] of found) {
    const count = logged.get(stream as StreamKey) ?? 0;
    if (count < length) report(stream, `the commit log lacks its events from ${count} on`);
  }
  for (const [stream, count] of logged) {
    if (count <= (found.get(stream)?.length ?? 0)) continue;
    const { length } = await readHeadNow(engine, tenant, stream);
    if (count > length) report(stream, `the commit log has ${count} events of it, not ${length}`);
  }
}

async function isIncomplete(
  tx: ReadTransaction,
  tenant: number,
): Promise<boolean> {
  if (await readFill(tx, tenant) !== undefined) return true;
  return !await isFeedPrepared(tx) && !await hasLogged(tx, tenant, FEED_START);
}

/** How many events of each stream the log names. Reports gaps and repetitions. */
async function walkLog(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  onRecord: (record: LogRecord) => void,
  report: Report,
): Promise<ReadonlyMap<StreamKey, number>> {
  const counts = new TextMap<number, StreamKey>();
  for (let after = FEED_START;;) {
    const records = await engine.snapshot((tx) => readLog(tx, tenant, { after, ...LOG_PAGE }));
    for (const record of records) {
      onRecord(record);
      for (const entry of record.entries) {
        if (entry.kind !== "appended") continue;
        const { stream, first, count } = entry;
        const due = counts.get(stream) ?? 0;
        if (first !== due) report(stream, `the commit log has event ${first} where ${due} is due`);
        counts.set(stream, first + count);
      }
    }
    if (records.length === 0) return counts;
    after = records.at(-1)!.place;
  }
}
