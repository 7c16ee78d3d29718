/**
 * Applies rate limits: those of an instance, below them the safety net for each address.
 *
 * It also makes the headers that report them. See docs/reference/limits.md.
 */

import type { Instance } from "../../domain/access/access.ts";
import { count } from "../../domain/measures/counters.ts";
import { type RateKind, type RateVerdict, UNLIMITED } from "../../domain/limits/plan.ts";
import { ACCEPTED, type Outcome, type RateScope, refuse } from "../../domain/refusal.ts";
import { type Call, type Edge, peerAddress, type RateHeaders } from "../call.ts";
import { errorTypeOf } from "../reply.ts";

const WITHOUT_LIMIT: RateHeaders = { scope: "instance", tier: "unlimited", ...UNLIMITED };

type Caller = Pick<Call, "request" | "connection"> & { rate?: RateHeaders };

/** For an instance without limits, neither requests nor addresses are counted. */
export function limitInstance(
  edge: Edge,
  call: Call,
  instance: Instance,
  kind: RateKind,
): Outcome<void> | Promise<Outcome<void>> {
  if (instance.tier !== "unlimited") return limitBoth(edge, call, instance, kind);
  call.rate = WITHOUT_LIMIT;
  return ACCEPTED;
}

/** The address first: the store, which counts for an instance, is not asked in vain. */
async function limitBoth(
  edge: Edge,
  call: Call,
  instance: Instance,
  kind: RateKind,
): Promise<Outcome<void>> {
  const { tier } = instance;
  const net = limitAddress(edge, call, tier);
  const limited = net.ok
    ? judge(edge, call, "instance", await edge.service.limits.admit(instance, kind), tier)
    : net;
  if (!limited.ok && kind === "write") {
    count(edge.requests.writesRefused, errorTypeOf(limited.refusal));
  }
  return limited;
}

/** For requests without a valid key, or with a key of an instance that has limits. */
export function limitAddress(edge: Edge, call: Caller, tier?: string): Outcome<void> {
  const peer = peerAddress(call);
  // A local socket or a request made in process has no address to count.
  if (peer === "") return ACCEPTED;
  const forwardedFor = call.request.headers.get("x-forwarded-for");
  const verdict = edge.addressNet.take(peer, forwardedFor, edge.host.monotonicMs());
  return judge(edge, call, "ip", verdict, tier);
}

function judge(
  { requests }: Edge,
  call: Caller,
  scope: RateScope,
  verdict: RateVerdict,
  tier: string | undefined,
): Outcome<void> {
  const { isAdmitted, limit, remaining, retryAfterMs } = verdict;
  call.rate = { scope, limit, remaining, tier };
  if (isAdmitted) return ACCEPTED;
  count(requests.rateLimited, scope);
  return refuse({ kind: "rate_limited", scope, limit, tier, retryAfterMs });
}

/**
 * Sets the headers on a finished response, which is far cheaper than passing them to its
 * constructor.
 */
export function setRateHeaders({ headers }: Response, rate: RateHeaders | undefined): void {
  if (rate === undefined) return;
  headers.set("x-ratelimit-limit", String(rate.limit));
  headers.set("x-ratelimit-remaining", String(rate.remaining));
  headers.set("x-ratelimit-scope", rate.scope);
  if (rate.tier !== undefined) headers.set("x-ratelimit-tier", rate.tier);
}
