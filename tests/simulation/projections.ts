/** The projections of a world as clients deploy them, and whether their upkeep is done. */

import type { JsonObject } from "../../src/domain/json.ts";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import { splitStreamKey } from "../../src/domain/identifier.ts";
import { isRecordSettled } from "../../src/features/projections/projection_sets.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import type { LogPosition } from "../../src/store/feed/log_cursor.ts";
import { decodeEntries } from "../../src/store/feed/commit_log.ts";
import { keyAfter, keys } from "../../src/store/keys.ts";
import type { ProjectionRecord } from "../../src/store/projections/projections.ts";
import type { Random } from "../crash/random.ts";
import { ask, type ClientWorld } from "./clients.ts";
import { TENANT } from "./founding.ts";
import type { SimulatedStore } from "./simulated_store.ts";
import { compiledNow } from "./spec_times.ts";

/** Rows of orders that show what sagas and clients have written elsewhere. */
const ORDERS: JsonObject = {
  name: "orders",
  for_each: "order",
  sources: {
    order: "$key",
    payment: { type: "payment", id: "$.key" },
    stock: { type: "stock", id: "$.key" },
  },
  include: { all: "order:global" },
  select: {
    seen: "$.order.seen",
    paid: "$.payment.seen",
    stocked: { $count: "$.stock.seen" },
    called_off: { $count: "$.all.seen" },
  },
};
/** Two definitions with different columns. */
export const DEFINITIONS: readonly JsonObject[] = [
  ORDERS,
  { ...ORDERS, select: { stock: "$.stock.seen", seen: { $count: "$.order.seen" } } },
];

const TRIES_MAX = 12;
const RETRY_MS = 250;
/** The types that the definitions read. */
const TYPES: ReadonlySet<string> = new Set(["order", "payment", "stock"]);

/** Tries until a deploy is acknowledged, or gives up. */
export async function deployProjection(
  world: ClientWorld,
  random: Random,
  definition: JsonObject,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await ask(
      world,
      random,
      ({ service }) => service.projections.deploy(TENANT, definition),
    );
    if (outcome?.ok) {
      world.census.count("projections deployed");
      return true;
    }
    if (outcome !== undefined) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
    await world.time.sleep(RETRY_MS);
  }
  return false;
}

export function readProjections(store: SimulatedStore): ProjectionRecord[] {
  return store.pairsWithin(keys.projections(TENANT.number))
    .map(({ value }) => decodeRecord<ProjectionRecord>(value));
}

/** Whether the log has something that projections show behind their cursor. */
function isBehind(store: SimulatedStore): boolean {
  const { number } = TENANT;
  const key = keys.logCursor(number);
  const [cursor] = store.pairsWithin({ begin: key, end: keyAfter(key) });
  if (cursor === undefined) return false;
  const { place, done } = decodeRecord<LogPosition>(cursor.value);
  const { begin, end } = keys.commitLog(number);
  return store.pairsWithin({ begin, end }).some(({ key, value }) => {
    const at = key.subarray(begin.length).toHex().padEnd(place.length, "0");
    if (at < place) return false;
    const entries = decodeEntries(value);
    const left = at === place ? entries.slice(done) : entries;
    return left.some(({ stream }) => TYPES.has(splitStreamKey(stream).type));
  });
}

/** Whether rows are still to be written or removed, as far as the store shows. */
export function areProjectionsBusy(store: SimulatedStore): boolean {
  if (isBehind(store)) return true;
  const spec = compiledNow(store);
  return readProjections(store).some((record) =>
    record.building !== undefined || record.removing.length > 0 ||
    !runAtOnce(isRecordSettled(record, spec))
  );
}
