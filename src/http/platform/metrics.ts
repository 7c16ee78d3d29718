/**
 * `GET /metrics`, for Prometheus. Answers even if the store is unavailable, and reports that.
 *
 * A program on the same machine may read it without a token, if the settings say so. See
 * docs/reference/monitoring.md.
 */

import { ACCEPTED, type Outcome } from "../../domain/refusal.ts";
import type { Call, Connection, Edge } from "../call.ts";
import { checkUnrestricted, open } from "../endpoint.ts";
import { liveCount } from "../feed/live_count.ts";
import type { MetricsView } from "../metrics/definitions.ts";
import { createExposition, type Exposition } from "../metrics/exposition.ts";
import { authenticateCaller } from "../middleware/authenticate.ts";
import { sendRefusal } from "../reply.ts";
import ipaddr from "ipaddr.js";

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
    live: liveCount,
    counters: service.operations.counters,
    store,
    archive: service.operations.measureArchive?.(),
    leases: service.operations.countLeases(),
    modules: service.operations.measureModules(),
    sql: service.sql.measure(),
    process: host.measureProcess(),
    eventLoopLagSeconds: (host.monotonicMs() - beganMs) / MS_PER_SECOND,
  };
}

/** Headers added by proxies, or by browsers to a request from a page of another origin. */
const MARKS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "origin",
] as const;

/**
 * Whether the request comes from a program on this machine. A server that listens on a loopback
 * address may stand behind a proxy, and any web page can make a browser on the machine send a
 * request. Both leave marks in the headers. Without the address of the peer in `connection`, the
 * answer is false.
 */
export function isLocalScrape(headers: Headers, connection: Connection): boolean {
  const peer = connection?.remoteAddr;
  if (peer === undefined || !("hostname" in peer) || !isLoopback(peer.hostname)) return false;
  if (MARKS.some((name) => headers.has(name))) return false;
  // The host must be loopback by name: DNS rebinding would use another name that points here.
  return isLoopback(hostOf(headers.get("host") ?? ""));
}

function hostOf(header: string): string {
  return header.replace(/:[0-9]*$/, "").replace(/^\[(.*)\]$/, "$1");
}

function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}
