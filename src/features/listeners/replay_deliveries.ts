/**
 * Replays ended deliveries: each goes back into its lane under its own id, with new tries. It
 * serves `POST /_listeners/{name}/replay`. See docs/reference/listeners.md.
 */

import { END_STATES, type EndedDelivery, type EndState } from "../../domain/listener/delivery.ts";
import { DELIVERY_ID, deliveryIdsFrom } from "../../domain/listener/delivery_id.ts";
import type { Replayed } from "../../domain/listener/view.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { NO_LISTENER } from "./list_listeners.ts";
import {
  encodeDelivery,
  type Endpoint,
  markLane,
  putDelivery,
  readDelivery,
  signalLanes,
} from "../../store/listeners/deliveries.ts";
import { clearEnded, findEnded, listEnded } from "../../store/listeners/ended_deliveries.ts";

export type ReplayRequest =
  & { readonly listener: string }
  & (
    | { readonly deliveryId: string }
    /** All deliveries of events written since then, after the id `start`. */
    | { readonly sinceMs: number; readonly start?: string }
  );

/** Deliveries in one transaction; each needs its lane's mark, the delivery and its ended record. */
const AT_A_TIME = 100;

const NO_DELIVERY = "There is no such finished delivery; a pending one is retried without a replay";

export interface ReplayTools {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
}

export async function replayDeliveries(
  { engine, host, specs }: ReplayTools,
  { number: tenant }: Tenant,
  request: ReplayRequest,
): Promise<Outcome<Replayed>> {
  const { listener } = request;
  const declared = (await specs.current(tenant)).listeners.get(listener);
  if (declared === undefined) return refuse({ kind: "not_found", message: NO_LISTENER });
  if (!declared.enabled) {
    const message = `Listener '${listener}' is disabled: nothing would be delivered to it`;
    return refuse({ kind: "operator_input_invalid", path: "name", message });
  }
  const at = { tenant, listener };
  if ("deliveryId" in request) return await replayOne(engine, host, at, request.deliveryId);
  const { sinceMs, start } = request;
  if (start !== undefined && !DELIVERY_ID.test(start)) {
    const message = "start must be a next_start that an earlier call has given";
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  return accept(await replaySince(engine, host, { at, sinceMs, start }));
}

async function replayOne(
  engine: Engine,
  host: Host,
  at: Endpoint,
  id: string,
): Promise<Outcome<Replayed>> {
  const nowMs = host.nowMs();
  const replayed = !DELIVERY_ID.test(id) ? 0 : await engine.transact(async (tx) => {
    const ended = await findEnded(tx, at, id);
    return ended === undefined ? 0 : await putBack(tx, at, [ended], nowMs);
  });
  if (replayed === 0) return refuse({ kind: "not_found", message: NO_DELIVERY });
  return accept({ replayed, truncated: false });
}

interface EndpointReplay {
  readonly at: Endpoint;
  readonly sinceMs: number;
  readonly start: string | undefined;
}

async function replaySince(
  engine: Engine,
  host: Host,
  { at, sinceMs, start }: EndpointReplay,
): Promise<Replayed> {
  const nowMs = host.nowMs();
  let after = start ?? deliveryIdsFrom(sinceMs);
  let replayed = 0;
  let asked = 0;
  while (asked < limits.replayedAtOnceMax) {
    const page = await engine.transact(async (tx) => {
      // The body may run again, so the count is taken from its final result.
      const found = await listSince(tx, at, after);
      return { found, count: await putBack(tx, at, found, nowMs) };
    });
    replayed += page.count;
    asked += page.found.length;
    after = page.found.at(-1)?.delivery.id ?? after;
    if (page.found.length < AT_A_TIME) return { replayed, truncated: false };
  }
  const rest = await engine.snapshot((tx) => listSince(tx, at, after));
  if (rest.length === 0) return { replayed, truncated: false };
  return { replayed, truncated: true, next_start: after };
}

/** The next ended deliveries after an id, whatever their outcome, oldest first. */
async function listSince(
  tx: Pick<ReadTransaction, "getRange">,
  at: Endpoint,
  after: string,
): Promise<EndedDelivery[]> {
  const page = { limit: AT_A_TIME, after, reverse: false };
  const lists = await Promise.all(
    END_STATES.map((state: EndState) => listEnded(tx, at, state, page)),
  );
  return lists.flat().sort((a, b) => a.delivery.id < b.delivery.id ? -1 : 1).slice(0, AT_A_TIME);
}

/**
 * Returns how many were put back. Skips a delivery if the event is already waiting for the
 * listener.
 */
async function putBack(
  tx: Transaction,
  at: Endpoint,
  ended: readonly EndedDelivery[],
  nowMs: number,
): Promise<number> {
  const waiting = await Promise.all(
    ended.map(({ stream, index }) => readDelivery(tx, { ...at, stream }, index)),
  );
  const free = ended.filter((_, index) => waiting[index] === undefined);
  for (const each of free) {
    const { stream, index, delivery: { tries, triesBefore, ...delivery } } = each;
    const again = {
      ...delivery,
      sinceMs: nowMs,
      dueMs: 0,
      tries: [],
      triesBefore: triesBefore + tries.length,
    };
    clearEnded(tx, at, each);
    putDelivery(tx, { ...at, stream }, index, encodeDelivery(again));
    markLane(tx, { ...at, stream });
  }
  if (free.length > 0) signalLanes(tx);
  return free.length;
}
