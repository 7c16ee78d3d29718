/** Measures in process what rate limits cost a request, in a single process and when shared. */

import { createRequestAdmission } from "../../src/features/limits/admit_request.ts";
import { openSharedCounter } from "../../src/features/limits/share_rate.ts";
import type { Instance } from "../../src/domain/access/access.ts";
import { newCounters } from "../../src/domain/measures/counters.ts";
import { type Host, systemHost } from "../../src/host.ts";
import { clientAddress } from "../../src/http/client_address.ts";
import { createAddressNet } from "../../src/http/middleware/address_net.ts";
import { setRateHeaders } from "../../src/http/middleware/rate_limit.ts";
import { withTemporaryEngine } from "../../tests/support/temporary_engine.ts";
import { processorMicros } from "./machine.ts";
import type { Row } from "./table.ts";

const REQUESTS = 1_000_000;
const ROUND = 1_000;
/**
 * The clock advances between rounds just fast enough for the tier's limit to admit every
 * request.
 */
const ROUND_MS = 60_000 * ROUND / 290_000;
const MICROS_MAX = 20;

type Admit = (number: number) => unknown;

export async function measureLimits(add: (row: Row) => void): Promise<void> {
  const clock = { nowMs: 0 };
  const host: Host = { ...systemHost(), monotonicMs: () => clock.nowMs };
  const instance: Instance = { id: "one", slug: "one", tier: "scale", created_at: "" };
  const own = createRequestAdmission(host);
  add(await row("rate limit, alone", clock, () => own.admit(instance, "read")));
  await withTemporaryEngine(async (engine) => {
    const sharing = { engine, host, counters: newCounters(), owner: "one" };
    const shared = createRequestAdmission(host, (id, kind) => openSharedCounter(sharing, id, kind));
    const taken = await row("rate limit, shared", clock, () => shared.admit(instance, "read"));
    const { rateShares } = sharing.counters;
    const asked = [...rateShares.values()].reduce((sum, count) => sum + count, 0);
    add({ ...taken, note: `${asked} transactions for ${REQUESTS} requests` });
  });
  const net = createAddressNet((peer, forwardedFor) => clientAddress(peer, forwardedFor, []));
  const address = (number: number) => `2001:db8:${(number % 5_000).toString(16)}::1`;
  add(await row("net for addresses, 5,000", clock, (n) => net.take(address(n), null, clock.nowMs)));
  const headers = { scope: "instance", limit: 600, remaining: 1, tier: "free" } as const;
  const response = new Response("{}");
  add(await row("rate limit headers", clock, () => setRateHeaders(response, headers)));
}

async function row(name: string, clock: { nowMs: number }, admit: Admit): Promise<Row> {
  await run(clock, admit, REQUESTS / 10);
  const before = processorMicros(Deno.pid);
  await run(clock, admit, REQUESTS);
  const value = (processorMicros(Deno.pid) - before) / REQUESTS;
  return { name: `${name}, in process`, value, unit: "us CPU", target: { below: MICROS_MAX } };
}

async function run(clock: { nowMs: number }, admit: Admit, count: number): Promise<void> {
  for (let number = 0; number < count; number += ROUND) {
    clock.nowMs += ROUND_MS;
    let last: unknown;
    for (let within = 0; within < ROUND; within++) last = admit(number + within);
    await last;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}
