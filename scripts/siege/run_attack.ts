/**
 * The course of one attack: a quiet window, the attack beside the neighbour, a sign of life.
 *
 * Then the server is killed amid the attack and started on the same data, with some seconds in
 * which backlogs may show. Last, it is stopped with SIGTERM, again amid the attack.
 */

import type { Attack } from "./attack.ts";
import { askOnce, besiege, type Besieged, type EngineName } from "./besieged.ts";
import { type Bars, blame } from "./bars.ts";
import { longestDelay } from "./loop_delay.ts";
import type { Neighbour } from "./neighbour.ts";
import type { Outcome } from "./outcome.ts";
import { neighbourId, type Observation } from "./probes.ts";
import { residentMemory, watchMemory } from "./process_memory.ts";
import { pause, sendWaves } from "./send.ts";

export interface CourseOptions {
  readonly engine: EngineName;
  /** How long an attack lasts that does not say so itself. */
  readonly seconds: number;
  readonly bars: Bars;
  /** Another checkout of the product. */
  readonly folder?: string;
  /** Leaves out the kill, the restart and the stop. */
  readonly isShort?: boolean;
}

type Findings = { -readonly [Name in keyof Outcome]: Outcome[Name] };

const WARM_UP_MS = 1_000;
const QUIET_MS = 2_000;
const AFTERMATH_MS = 1_500;
const AFTER_RESTART_MS = 4_000;
const BEFORE_STOP_MS = 1_000;
const TRY_MS_MAX = 5_000;
const ALIVE_MS_MAX = 10_000;
/** An attack that needs more memory than this is ended, because the machine is shared. */
const MEMORY_MIB_MAX = 4_096;

export async function runAttack(
  attack: Attack,
  neighbour: Neighbour,
  options: CourseOptions,
): Promise<Outcome> {
  const { engine } = options;
  const found: Findings = { attack, engine, answers: new Map(), silent: [], faults: [] };
  let besieged: Besieged | undefined;
  try {
    const watch = attack.watch ?? [];
    const { receiverPort } = neighbour;
    const { settings } = attack;
    const { folder } = options;
    besieged = await besiege({ engine, settings, watch, receiverPort, folder });
    const startMiB = residentMemory(besieged.server.pid) ?? 0;
    await besieged.prepare(attack.spec?.(), attack.prepare?.() ?? []);
    await neighbour.aim(besieged.aim);
    await observe(neighbour, () => pause(WARM_UP_MS));
    found.quiet = await observe(neighbour, () => pause(QUIET_MS));
    await standAttack(found, { besieged, neighbour, startMiB }, options);
    if (options.isShort !== true) {
      await startAgain(found, besieged, neighbour);
      await stopMidway(found, besieged);
    }
  } catch (error) {
    found.failure = error instanceof Error ? error.message : String(error);
  } finally {
    await besieged?.remove();
  }
  found.faults = blame(found, options.bars);
  return found;
}

/**
 * Carries out the preparation, and sends the request of each wave once. The answers show
 * whether the row asks for what it means to ask.
 */
export async function tryAttack(attack: Attack, folder?: string): Promise<string> {
  let besieged: Besieged | undefined;
  try {
    const options = { engine: "sqlite", watch: attack.watch ?? [], receiverPort: 1 } as const;
    besieged = await besiege({ ...options, settings: attack.settings, folder });
    await besieged.prepare(attack.spec?.(), attack.prepare?.() ?? []);
    const told: string[] = [];
    for (const { request } of attack.waves) {
      const sent = typeof request === "function" ? request(0) : request;
      const signal = AbortSignal.timeout(TRY_MS_MAX);
      const heard = await askOnce(besieged.target, sent, signal)
        .catch((error) => ({ status: String(error), text: "" }));
      told.push(`${heard.status} ${heard.text.slice(0, 160)}`);
    }
    return told.join("\n    ");
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).slice(0, 600);
  } finally {
    await besieged?.remove();
  }
}

async function observe(neighbour: Neighbour, work: () => Promise<void>): Promise<Observation> {
  await neighbour.begin();
  await work();
  return await neighbour.end();
}

interface AttackedPair {
  readonly besieged: Besieged;
  readonly neighbour: Neighbour;
  readonly startMiB: number;
}

async function standAttack(
  found: Findings,
  { besieged, neighbour, startMiB }: AttackedPair,
  { seconds }: CourseOptions,
): Promise<void> {
  const { server, target } = besieged;
  const memory = watchMemory(server.pid, startMiB + MEMORY_MIB_MAX, () => {
    found.died = `killed: more than ${MEMORY_MIB_MAX} MiB above its start`;
    void server.kill();
  });
  const delays = await longestDelay(server);
  found.beside = await observe(neighbour, async () => {
    const over = AbortSignal.timeout((found.attack.seconds ?? seconds) * 1000);
    await Promise.all([
      sendWaves(found.attack.waves, target, over, found.answers),
      pause(Infinity, over),
    ]);
    await pause(AFTERMATH_MS);
  });
  found.loopDelayMs = await delays.end();
  const { serverMiB, childMiB } = memory.end();
  found.serverMiB = serverMiB - startMiB;
  found.childMiB = childMiB;
  found.died ??= server.howItEnded();
  if (found.died === undefined) await askForLife(found, besieged, "after the attack");
}

/** Checks that the neighbour can write and read, and that the server reports itself as ready. */
async function askForLife(found: Findings, besieged: Besieged, when: string): Promise<void> {
  const { aim } = besieged;
  const none = { operator: undefined, nobody: undefined, staging: undefined };
  const credentials = { write: aim.key, read: aim.key, ...none };
  const home = { port: aim.port, instance: aim.instance, credentials };
  const shop = `/shop/${neighbourId(0)}`;
  const body = JSON.stringify({ data: {}, metadata: { actor: { type: "user", id: "global" } } });
  const requests = [{ path: "/health/ready" }, { path: `${shop}/was_sold`, body }, { path: shop }];
  for (const request of requests) {
    const address = "10.0.0.2";
    const signal = AbortSignal.timeout(ALIVE_MS_MAX);
    const { status } = await askOnce(home, { ...request, address }, signal)
      .catch((error) => ({ status: String(error) }));
    if (status !== 200 && status !== 201) {
      found.silent = [...found.silent, `${when}: ${request.path}: ${status}`];
    }
  }
}

async function startAgain(
  found: Findings,
  besieged: Besieged,
  neighbour: Neighbour,
): Promise<void> {
  found.orphans = await strikeAmid(found.attack, besieged);
  found.readyMs = besieged.server.startMs;
  const { server } = besieged;
  const startMiB = residentMemory(server.pid) ?? 0;
  const memory = watchMemory(server.pid, startMiB + MEMORY_MIB_MAX, () => void server.kill());
  await neighbour.aim(besieged.aim);
  found.afterRestart = await observe(neighbour, () => pause(AFTER_RESTART_MS));
  found.serverAgainMiB = memory.end().serverMiB - startMiB;
  const ended = server.howItEnded();
  if (ended !== undefined) throw new Error(`the server ended after the restart: ${ended}`);
  await askForLife(found, besieged, "after the restart");
}

/** Restarts the server in the middle of the attack. */
async function strikeAmid({ waves }: Attack, besieged: Besieged): Promise<number> {
  const over = new AbortController();
  const sending = sendWaves(waves, besieged.target, over.signal, new Map());
  await pause(BEFORE_STOP_MS);
  const orphans = await besieged.restart();
  over.abort();
  await sending;
  return orphans;
}

async function stopMidway(found: Findings, besieged: Besieged): Promise<void> {
  const over = new AbortController();
  const sending = sendWaves(found.attack.waves, besieged.target, over.signal, new Map());
  await pause(BEFORE_STOP_MS);
  const beganMs = performance.now();
  found.stopCode = await besieged.server.stop();
  found.stopMs = performance.now() - beganMs;
  over.abort();
  await sending;
}
