/**
 * Runs the works, each with a time limit. A peer that fails is shown as failed and does not end
 * the run.
 *
 * The works run one after the other, and for each the peers run one after the other, so that a
 * bad moment of the machine does not hit a single peer.
 */

import type { Peer, PeerPlace, RunningPeer } from "./catalog.ts";
import { append, WARMUP_AREA } from "./load_works.ts";
import { BUSY } from "./names.ts";
import { endAll } from "./servers.ts";
import type { Sizes } from "./sizes.ts";
import type { Outcome, Work } from "./work.ts";
import { WORKS } from "./works.ts";

export interface Run {
  readonly peers: readonly Peer[];
  /** The folders for the peers' data are created in its folder, and emptied. */
  readonly place: PeerPlace;
  readonly sizes: Sizes;
  isAsked(peer: Peer, work: Work): boolean;
  /** Called when a work ends. */
  onDone(peer: Peer, work: Work, done: Done): Promise<void>;
}

export interface Done {
  readonly startedAt: Date;
  readonly seconds: number;
  readonly load: number;
  readonly outcomes: readonly Outcome[];
  readonly failure?: string;
}

/** The stores whose works append single events. */
const WARM: ReadonlySet<string> = new Set(["writes", "lists", "growth"]);
const REASON_LENGTH_MAX = 300;
const MINUTE_MS = 60_000;

export async function runWorks(run: Run): Promise<void> {
  const endMs = performance.now() + run.sizes.minutes * MINUTE_MS;
  for (const store of new Set(WORKS.map((work) => work.store))) {
    for (const peer of run.peers) {
      const works = WORKS.filter((work) => work.store === store && run.isAsked(peer, work));
      if (works.length > 0) await runOnOneStore(run, peer, works, endMs);
    }
  }
}

/**
 * What works on one store share: the first one starts the server, and so does one after a
 * failure.
 */
interface Shared {
  running?: RunningPeer;
}

async function runOnOneStore(
  run: Run,
  peer: Peer,
  works: readonly Work[],
  endMs: number,
): Promise<void> {
  let shared: Shared = {};
  for (const work of works) {
    const startedAt = new Date();
    const beganMs = performance.now();
    const load = Deno.loadavg()[0]!;
    const outcomes: Outcome[] = [];
    let failure: string | undefined;
    if (beganMs > endMs) {
      failure = `not begun after ${run.sizes.minutes} minutes`;
    } else {
      try {
        await within(run.sizes.limitSeconds, measure(run, { peer, work, shared }, outcomes));
      } catch (error) {
        failure = (error instanceof Error ? error.message : String(error)).trim()
          .slice(0, REASON_LENGTH_MAX);
      }
      if (failure !== undefined || work.store === "apart") {
        await clear(run, shared);
        // The work that was given up may still start its server, which is not for the next work.
        shared = {};
      }
    }
    const seconds = (performance.now() - beganMs) / 1000;
    await run.onDone(peer, work, { startedAt, load, seconds, outcomes, failure });
  }
  await clear(run, shared);
}

interface PeerWork {
  readonly peer: Peer;
  readonly work: Work;
  readonly shared: Shared;
}

/** Adds the outcomes of the work to `outcomes`, one by one. */
async function measure(
  run: Run,
  { peer, work, shared }: PeerWork,
  outcomes: Outcome[],
): Promise<void> {
  if (work.store === "apart") {
    for await (const outcome of work.run(peer, run.place, run.sizes)) outcomes.push(outcome);
    return;
  }
  if (shared.running === undefined) {
    shared.running = await startEmpty(run, peer);
    if (WARM.has(work.store)) await warmUp(shared.running, run.sizes);
  }
  for await (const outcome of work.run(shared.running, run.sizes)) outcomes.push(outcome);
}

async function startEmpty({ place }: Run, peer: Peer): Promise<RunningPeer> {
  const folder = await Deno.makeTempDir({ dir: place.folder });
  // PostgreSQL runs as another user.
  await Deno.chmod(folder, 0o755);
  return await peer.start({ ...place, folder: `${folder}/data` });
}

/** Appends until the code that writes single events is compiled. */
async function warmUp(running: RunningPeer, sizes: Sizes): Promise<void> {
  const { warmupSeconds: seconds, streams } = sizes;
  await append(running, { ...sizes, seconds }, {
    connections: BUSY,
    choose: (number) => WARMUP_AREA + number % streams,
  });
}

/** Stops the peer, gracefully at first, and removes its data. */
async function clear({ place, sizes }: Run, { running }: Shared): Promise<void> {
  const stopping = running?.stop().catch(() => {}) ?? Promise.resolve();
  await within(sizes.limitSeconds, stopping).catch(() => {});
  await endAll();
  for await (const { name } of Deno.readDir(place.folder)) {
    await Deno.remove(`${place.folder}/${name}`, { recursive: true });
  }
}

/** Rejects after `seconds` seconds. Work that is under way ends when its server does. */
async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${seconds} s`)), seconds * 1000);
  });
  // After the time is up, nothing else handles its failure.
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
