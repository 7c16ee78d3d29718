/**
 * The crash driver with deliveries to listeners in flight. Every event that a listener
 * subscribes to is delivered at least once, always under one id, in the order of its stream;
 * nothing is delivered that is not stored. The kills must also have hit deliveries under way.
 */

import { type Check, type Life, STANDARD_CHECKS, streamsHoldWhatWasSent } from "./checks.ts";
import { type CrashOptions, type CrashReport, runCrashes } from "./crash_driver.ts";
import { type DeliverySink, openDeliverySink, type Receipt } from "./delivery_sink.ts";
import { createRandom } from "./random.ts";
import { CRASH_SPEC } from "./workload.ts";

export interface DeliveryReport extends CrashReport {
  /** Number of events for listeners, and how often they were received in all. */
  readonly deliveries: number;
  readonly receipts: number;
  /** Deliveries that were resent after a 200: the kill came before the answer was settled. */
  readonly resent: number;
}

export type DeliveryCrashOptions = Pick<
  CrashOptions,
  "seed" | "rounds" | "connections" | "env" | "log"
>;

const RECOVERY = { share: 0.4, msMin: 100, msMax: 2_000 };
const DRAIN_MS_MAX = 120_000;
const POLL_MS = 200;
const FAULTS_MAX = 20;
const PLACE_DIGITS = 12;
const LISTENERS = { all: ["*"], credits: ["account.was_credited", "ledger.was_credited"] };

export async function runDeliveryCrashes(options: DeliveryCrashOptions): Promise<DeliveryReport> {
  const sink = openDeliverySink(createRandom(options.seed).fork(-5));
  try {
    const report = await runCrashes({
      ...options,
      env: { ...options.env, DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true" },
      spec: specFor(sink),
      hasProven: () => countResent(sink.receipts) > 0,
      recovery: RECOVERY,
      // Reads of states have nothing to do with deliveries.
      checks: STANDARD_CHECKS.slice(0, 2),
      beforeStop: { name: "all is delivered in time", run: drained },
      finalChecks: [
        { name: "streams hold what was sent", run: streamsHoldWhatWasSent },
        { name: "deliveries agree", run: (life) => Promise.resolve(judge(life, sink.receipts)) },
      ] satisfies Check[],
    });
    const { receipts } = sink;
    const resent = countResent(receipts);
    const missed = resent > 0
      ? []
      : ["no kill met a delivery under way: the run proves too little"];
    const deliveries = new Set(receipts.map(({ id }) => id)).size;
    const faults = [...report.faults, ...missed];
    return { ...report, deliveries, receipts: receipts.length, resent, faults };
  } finally {
    await sink.close();
  }
}

export function describeDeliveries(report: DeliveryReport): string {
  const { kills, seconds, deliveries, receipts, resent } = report;
  return `${kills} kills in ${seconds.toFixed(0)} s: ${deliveries} deliveries, ` +
    `received ${receipts} times; ${resent} were sent again after they had been answered`;
}

function countResent(receipts: DeliverySink["receipts"]): number {
  const well = receipts.filter(({ status }) => status === 200);
  return well.length - new Set(well.map(({ id }) => id)).size;
}

function specFor({ url }: DeliverySink) {
  const secret = "a secret of the crash run";
  const listeners = Object.entries(LISTENERS).map(([name, events]) => [
    name,
    { url, secret, events },
  ]);
  return { ...CRASH_SPEC, modules: { listeners: Object.fromEntries(listeners) } };
}

async function drained({ api }: Life): Promise<string[]> {
  const startedAt = performance.now();
  for (;;) {
    const { data } = await api.get("/_listeners");
    const listeners = data as { name: string; deliveries: Record<string, number> }[];
    const open = listeners.filter(({ deliveries }) => deliveries.pending! > 0);
    if (open.length === 0) {
      return listeners.filter(({ deliveries }) => deliveries.dead! + deliveries.dropped! > 0)
        .map(({ name, deliveries }) => `${name}: ${JSON.stringify(deliveries)}`);
    }
    if (performance.now() - startedAt > DRAIN_MS_MAX) return [`not all: ${JSON.stringify(open)}`];
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Compares the receipts with the stored events. */
function judge({ journal, streams }: Life, receipts: readonly Receipt[]): string[] {
  const faults: string[] = [];
  const received = new Map<string, Receipt>();
  const places = new Map<string, string>();
  const newest = new Map<string, number>();
  for (const receipt of receipts) {
    const { id, listener, key, streamId, hash, status } = receipt;
    const lane = `${listener} ${key}`;
    const place = `${lane} ${streamId}`;
    const stored = streams.get(key)?.hashes[Number(streamId)];
    if (stored !== hash) faults.push(`${place}: delivered ${hash}, stored ${stored}`);
    const known = places.get(id);
    if (known !== undefined && known !== place) faults.push(`${id}: ${known} and ${place}`);
    places.set(id, place);
    const before = received.get(place);
    if (before !== undefined && before.id !== id) faults.push(`${place}: ${before.id} and ${id}`);
    const isNews = before === undefined;
    if (isNews && Number(streamId) < (newest.get(lane) ?? -1)) {
      faults.push(`${place}: came first after a later one`);
    }
    if (isNews) newest.set(lane, Number(streamId));
    if (isNews || status === 200) received.set(place, receipt);
  }
  for (const [key, { hashes }] of streams) {
    for (const index of hashes.keys()) {
      const streamId = String(index).padStart(PLACE_DIGITS, "0");
      if (received.get(`all ${key} ${streamId}`)?.status !== 200) {
        faults.push(`all ${key} ${streamId}: never received`);
      }
    }
  }
  const heard = [...received.keys()].filter((place) => place.startsWith("credits ")).length;
  const credits = journal.operations.flatMap(({ targets }) => targets)
    .flatMap(({ events }) => events).filter(({ type }) => type === "was_credited").length;
  if (heard === 0 || heard > credits) faults.push(`${heard} credits of ${credits} were received`);
  return faults.slice(0, FAULTS_MAX);
}
