/** `GET /metrics`, for Prometheus. Answers even if the store is unavailable, and reports that. */

import { ACCEPTED, type Outcome } from "../../domain/refusal.ts";
import type { Call, Edge } from "../call.ts";
import { checkUnrestricted, open } from "../endpoint.ts";
import type { MetricsView } from "../metrics/definitions.ts";
import { createExposition, type Exposition } from "../metrics/exposition.ts";
import { authenticateCaller } from "../middleware/authenticate.ts";
import { isLocalScrape } from "../middleware/local_scrape.ts";
import { sendRefusal } from "../reply.ts";

/** The registry of each edge, made at its first request. */
const expositions = new WeakMap<Edge, Exposition>();
const MS_PER_SECOND = 1000;

export const answerMetrics = open("metrics", {
  id: "readMetrics",
  summary: "What Prometheus reads",
  answers: { 200: "text/plain" },
  errors: ["unauthorized", "forbidden"],
  async run(edge, call) {
    const allowed = await authenticateScraper(edge, call);
    if (!allowed.ok) return sendRefusal(call.requestId, allowed.refusal);
    let exposition = expositions.get(edge);
    if (exposition === undefined) expositions.set(edge, exposition = createExposition());
    const text = await exposition.write(await takeView(edge));
    return new Response(text, {
      headers: {
        "content-type": exposition.contentType,
        "cache-control": "no-store",
        "x-request-id": call.requestId,
        "access-control-allow-origin": "*",
      },
    });
  },
});

/** A token that is sent is checked even if none is needed. */
async function authenticateScraper(edge: Edge, call: Call): Promise<Outcome<unknown>> {
  const { headers } = call.request;
  const header = headers.get("authorization");
  const isOpen = edge.options.opensMetricsLocally === true && header === null;
  if (isOpen && isLocalScrape(headers, call.connection)) return ACCEPTED;
  const caller = await authenticateCaller(edge.service.access, header);
  return caller.ok ? checkUnrestricted(caller.value) : caller;
}

async function takeView({ service, host, requests, loadGate }: Edge): Promise<MetricsView> {
  const store = await service.operations.measureStore();
  const beganMs = host.monotonicMs();
  await host.yieldTurn();
  return {
    requests,
    load: loadGate.measure(),
    counters: service.operations.counters,
    store,
    leases: service.operations.countLeases(),
    modules: service.operations.measureModules(),
    sql: service.sql.measure(),
    process: host.measureProcess(),
    eventLoopLagSeconds: (host.monotonicMs() - beganMs) / MS_PER_SECOND,
  };
}
