/**
 * Runs the fuzz against one long-lived server: batches of cases, beside the neighbour.
 *
 * The neighbour's worst answer and the delay of the event loop decide. A guilty batch is tried
 * again case by case; a guilty case is made smaller as long as it stays guilty, and written to
 * a file.
 */

import type { HostileRequest, Json } from "../attack.ts";
import { askOnce, besiege, type Besieged, type EngineName, take } from "../besieged.ts";
import type { Bars } from "../bars.ts";
import {
  deployProjection,
  deploySpec,
  eventType,
  idOf,
  importEvents,
  repeat,
  specOf,
  untilReady,
} from "../documents.ts";
import { longestDelay } from "../loop_delay.ts";
import { type Neighbour, startNeighbour } from "../neighbour.ts";
import { ORDINARY_PROBES } from "../probes.ts";
import { forgetPeak, peakMemory, residentMemory } from "../process_memory.ts";
import { count, pause } from "../send.ts";
import { type FuzzCase, makeCase, typeOf } from "./cases.ts";
import { type Random, randomFrom } from "./random.ts";

export interface FuzzOptions {
  readonly engine: EngineName;
  readonly cases: number;
  readonly seed: number;
  /** How often the server is killed or stopped at a random moment, and started again. */
  readonly kills: number;
  readonly bars: Bars;
  readonly folder?: string;
  /** The folder into which findings are written. */
  readonly findings: string;
}

export interface FuzzReport {
  readonly cases: number;
  readonly findings: readonly Finding[];
  /** How stops ended that were not as they should be. */
  readonly badStops: readonly string[];
  readonly answers: ReadonlyMap<string, number>;
  readonly kills: number;
}

export interface Finding {
  readonly fuzzCase: FuzzCase;
  readonly verdict: string;
  readonly file: string;
}

const BATCH = 12;
const CLIENTS = 4;
const CASE_MS_MAX = 20_000;
const DEPLOYS_MAX = 4;
const SETTLE_MS = 300;
const ROWS = 300;
const SHRINKS_MAX = 8;
const SEEDS_MAX = 2 ** 31;

/** The result of one batch or one case. */
interface Judgement {
  readonly worstMs: number;
  readonly serverMiB: number;
  readonly verdict: string | undefined;
}

export async function runFuzz(
  options: FuzzOptions,
  tell: (line: string) => void,
): Promise<FuzzReport> {
  const random = randomFrom(options.seed);
  const neighbour = await startNeighbour();
  const answers = new Map<string, number>();
  const findings: Finding[] = [];
  const badStops: string[] = [];
  const batches = Math.ceil(options.cases / BATCH);
  const killed = new Set<number>();
  while (killed.size < Math.min(options.kills, batches)) killed.add(random.below(batches));
  let kills = 0;
  const besieged = await settled(options, neighbour);
  const startMiB = residentMemory(besieged.server.pid) ?? 0;
  const fuzz: Fuzz = { besieged, neighbour, options, answers, startMiB };
  try {
    for (let batch = 0; batch < batches; batch++) {
      const seeds = repeat(BATCH, () => 1 + random.below(SEEDS_MAX - 1));
      const judgement = await judge(fuzz, seeds.map((seed, number) => makeCase(seed, number)));
      if (batch % 10 === 0) {
        tell(
          `${batch * BATCH} cases, worst ${Math.round(judgement.worstMs)} ms, +${
            Math.round(judgement.serverMiB)
          } MiB`,
        );
      }
      if (judgement.verdict !== undefined) {
        tell(`guilty batch: ${judgement.verdict}`);
        findings.push(...await findGuilty(fuzz, seeds, tell));
      }
      if (killed.has(batch)) {
        kills++;
        const bad = await killAmid(fuzz, random, seeds);
        if (bad === undefined) continue;
        tell(`FOUND: ${bad}`);
        badStops.push(bad);
      }
    }
  } finally {
    await fuzz.besieged.remove();
    await neighbour.stop();
  }
  return { cases: batches * BATCH, findings, badStops, answers, kills };
}

/** A server with everything that the cases need. */
async function settled(options: FuzzOptions, { receiverPort }: Neighbour): Promise<Besieged> {
  const { engine, folder } = options;
  const besieged = await besiege({ engine, folder, watch: [], receiverPort });
  try {
    await besieged.prepare(baseSpec([]), baseSteps());
  } catch (error) {
    await besieged.remove();
    throw error;
  }
  return besieged;
}

interface Fuzz {
  besieged: Besieged;
  readonly neighbour: Neighbour;
  readonly options: FuzzOptions;
  readonly answers: Map<string, number>;
  startMiB: number;
}

/** Sends cases, and judges how they affected the neighbour and the server. */
async function judge(fuzz: Fuzz, cases: readonly FuzzCase[]): Promise<Judgement> {
  const { besieged, neighbour, options: { bars } } = fuzz;
  const { server } = besieged;
  forgetPeak(server.pid);
  await neighbour.aim(besieged.aim);
  const delays = await longestDelay(server);
  await neighbour.begin();
  await sendCases(fuzz, cases);
  await pause(SETTLE_MS);
  const seen = await neighbour.end();
  const delayMs = await delays.end();
  const worstMs = Math.max(...ORDINARY_PROBES.map((probe) => seen.probes[probe]!.worst));
  const serverMiB = (peakMemory(server.pid) ?? 0) - fuzz.startMiB;
  const ended = server.howItEnded();
  const verdict = ended !== undefined
    ? `the server ended: ${ended}`
    : worstMs - seen.ownDelayMs > bars.worstMs
    ? `the neighbour waited for ${Math.round(worstMs)} ms`
    : delayMs === undefined
    ? "the delay of the event loop could not be read"
    : delayMs > bars.loopDelayMs
    ? `the event loop waited for up to ${Math.round(delayMs)} ms`
    : serverMiB > bars.serverMiB
    ? `${Math.round(serverMiB)} MiB above the start`
    : undefined;
  return { worstMs, serverMiB, verdict };
}

async function sendCases(fuzz: Fuzz, cases: readonly FuzzCase[]): Promise<void> {
  await deployTypes(fuzz, cases);
  const waiting = [...cases];
  await Promise.all(repeat(CLIENTS, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      for (const request of next.requests) await send(fuzz, request, next.kind);
    }
  }));
}

/**
 * Deploys the types, without those that are refused: a case must not take down the others of
 * its batch.
 */
async function deployTypes(fuzz: Fuzz, cases: readonly FuzzCase[]): Promise<void> {
  let accepted = [...cases];
  for (let attempt = 0; attempt < DEPLOYS_MAX; attempt++) {
    const request = deploySpec(baseSpec(accepted), { force: true });
    const reply = await send(fuzz, request, "deploy of types");
    if (reply === undefined || reply.status !== 422) return;
    const { violations = [] } = JSON.parse(reply.text) as { violations?: { path: string }[] };
    const refused = new Set(violations.map(({ path }) => path.split(".")[1]));
    accepted = accepted.map((each, number) =>
      refused.has(typeOf(number)) ? { ...each, events: undefined } : each
    );
  }
}

async function send(
  { besieged, answers }: Fuzz,
  request: HostileRequest,
  kind: string,
): Promise<{ readonly status: number; readonly text: string } | undefined> {
  try {
    const reply = await askOnce(besieged.target, request, AbortSignal.timeout(CASE_MS_MAX));
    count(answers, `${kind} ${reply.status}`);
    if (reply.status === 500) count(answers, `500: ${reply.text.slice(0, 200)}`);
    return reply;
  } catch {
    count(answers, `${kind}: no answer`);
  }
}

/** The types of all cases of a batch in one spec, and the type that statements query. */
function baseSpec(cases: readonly FuzzCase[]): Json {
  const merged = eventType({ merge: { target: "", value: "$.data" } });
  const types = cases.map(({ events }, number) =>
    [typeOf(number), events ?? { was_seen: merged }] as const
  );
  return specOf({ thing: { was_seen: merged }, ...Object.fromEntries(types) });
}

function baseSteps() {
  const row = (i: number) =>
    ["thing", idOf(i), "was_seen", { n: i, t: "a".repeat(20 + i) }] as const;
  const select = {
    n: { path: "$.own.n", type: "integer" },
    t: { path: "$.own.t", type: "string" },
  };
  return [
    importEvents(repeat(ROWS, row)),
    deployProjection({ name: "t", for_each: "thing", sources: { own: "$key" }, select }),
    untilReady(),
  ];
}

async function findGuilty(
  fuzz: Fuzz,
  seeds: readonly number[],
  tell: (line: string) => void,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const alone = async (seed: number, number: number, scale: number) => {
    const { verdict } = await judge(fuzz, padded(makeCase(seed, number, scale), number));
    const isSpoilt = verdict !== undefined || makeCase(seed, number, scale).kind === "reaction";
    if (isSpoilt) await renew(fuzz);
    return verdict;
  };
  await renew(fuzz);
  for (const [number, seed] of seeds.entries()) {
    let verdict = await alone(seed, number, 1);
    // Try once more: a disturbance of the machine does not come twice.
    if (verdict !== undefined) verdict = await alone(seed, number, 1);
    if (verdict === undefined) continue;
    let scale = 1;
    for (let i = 0; i < SHRINKS_MAX; i++) {
      const smaller = await alone(seed, number, scale / 2);
      if (smaller === undefined) break;
      scale /= 2;
      verdict = smaller;
    }
    const finding = await keep(fuzz, makeCase(seed, number, scale), verdict, number);
    tell(
      `FOUND: seed ${seed}, ${finding.fuzzCase.kind}, scale ${scale}: ${verdict}: ${finding.file}`,
    );
    findings.push(finding);
  }
  return findings;
}

/** A case at its place in a batch, after cases that do nothing. */
function padded(fuzzCase: FuzzCase, number: number): FuzzCase[] {
  const idle = { seed: 0, kind: "path", scale: 0, requests: [] } as const;
  return [...repeat(number, () => idle), fuzzCase];
}

async function keep(
  fuzz: Fuzz,
  fuzzCase: FuzzCase,
  verdict: string,
  number: number,
): Promise<Finding> {
  const folder = fuzz.options.findings;
  await Deno.mkdir(folder, { recursive: true });
  const file = `${folder}/${fuzzCase.kind}_${fuzzCase.seed}.json`;
  const spec = baseSpec(padded(fuzzCase, number));
  await Deno.writeTextFile(file, JSON.stringify({ verdict, ...fuzzCase, spec }, null, 1));
  return { fuzzCase, verdict, file };
}

/** Starts on an empty store, so that the next case does not feel what others have set off. */
async function renew(fuzz: Fuzz): Promise<void> {
  await fuzz.besieged.remove();
  fuzz.besieged = await settled(fuzz.options, fuzz.neighbour);
  fuzz.startMiB = residentMemory(fuzz.besieged.server.pid) ?? 0;
}

/**
 * Sends the same batch again, kills or stops the server in the middle, and starts it. Returns how
 * the stop ended, if not as it should.
 */
async function killAmid(
  fuzz: Fuzz,
  random: Random,
  seeds: readonly number[],
): Promise<string | undefined> {
  const { besieged } = fuzz;
  let bad: string | undefined;
  const sending = sendCases(fuzz, seeds.map((seed, number) => makeCase(seed, number)));
  await pause(random.below(1_500));
  if (random.chance(50)) {
    const beganMs = performance.now();
    const code = await besieged.server.stop();
    const took = performance.now() - beganMs;
    if (code !== 0 || took > fuzz.options.bars.stopMs) {
      bad = `stopped with ${code} after ${Math.round(took)} ms`;
    }
  }
  await besieged.restart();
  fuzz.startMiB = residentMemory(besieged.server.pid) ?? 0;
  await sending;
  await take(besieged.target, { path: "/health/ready" });
  return bad;
}
