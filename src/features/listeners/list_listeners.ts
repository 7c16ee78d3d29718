/** The listeners of the current spec and the state of their deliveries: `GET /_listeners`. */

import type { Circuit } from "../../domain/listener/circuit.ts";
import type { Listener } from "../../domain/listener/definition.ts";
import type { DeliveryState } from "../../domain/listener/delivery.ts";
import {
  type ListenerPage,
  type ListenerView,
  viewCircuit,
  viewListener,
} from "../../domain/listener/view.ts";
import { cutPage } from "../../domain/list_page.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { listPending } from "../../store/listeners/deliveries.ts";
import { countEnded } from "../../store/listeners/ended_deliveries.ts";
import type { SpecCache } from "../base/current_spec.ts";

export interface ListListenersRequest {
  readonly limit?: number;
  /** A name; the page begins after it. */
  readonly start?: string;
}

export interface ListenerTools {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly circuitOf: (tenant: number, listener: string) => Circuit | undefined;
}

/** The largest count for each state of each listener. */
const COUNT_MAX = 200;

/** Sorted by name. */
export async function listListeners(
  tools: ListenerTools,
  { number: tenant }: Tenant,
  request: ListListenersRequest,
): Promise<ListenerPage> {
  const { listeners } = await tools.specs.current(tenant);
  const { start } = request;
  const names = [...listeners.keys()].sort()
    .filter((name) => start === undefined || name > start);
  const page = cutPage(names, request.limit, (name) => name);
  const data: ListenerView[] = [];
  for (const name of page.data) data.push(await view(tools, tenant, listeners.get(name)!));
  return { ...page, data };
}

async function view(
  { engine, host, circuitOf }: ListenerTools,
  tenant: number,
  listener: Listener,
): Promise<ListenerView> {
  const deliveries = await countDeliveries(engine, tenant, listener.name);
  const circuit = viewCircuit(circuitOf(tenant, listener.name), host.nowMs());
  return viewListener(listener, deliveries, COUNT_MAX, circuit);
}

async function countDeliveries(
  engine: Engine,
  tenant: number,
  listener: string,
): Promise<Record<DeliveryState, number>> {
  const at = { tenant, listener };
  return await engine.snapshot(async (tx) => {
    const [pending, delivered, dead, dropped] = await Promise.all([
      listPending(tx, at, undefined, COUNT_MAX).then(({ length }) => length),
      countEnded(tx, at, "delivered", COUNT_MAX),
      countEnded(tx, at, "dead", COUNT_MAX),
      countEnded(tx, at, "dropped", COUNT_MAX),
    ]);
    return { pending, delivered, dead, dropped };
  });
}
