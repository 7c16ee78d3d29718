/**
 * A pool of runners: a few of them, started when needed and ended when not, with a fair queue
 * before them. What a job asks of its runner, and what its answer means, is its owner's; when it
 * runs, and that it is answered in any case, is decided here.
 */

import { newAlarm } from "./alarm.ts";
import {
  type Ending,
  fairQueue,
  type Pause,
  type QueueLimits,
  type Waiting,
} from "./fair_queue.ts";
import type { AnswerMessage, RunnerCommand, RunnerProcess } from "./runner_process.ts";
import { runnerShelf } from "./runner_shelf.ts";

/** What a job must tell to be queued. */
export interface Queued {
  readonly tenant: string;
  /** What is paused as one when it does not end in time. */
  lane(): string;
  /** Whether it may be run with others of its tenant. */
  isShort(): boolean;
}

/** What became of a job's turn. */
export interface TurnEnd {
  readonly usedMs: number;
  readonly ending: Ending;
  /** The lane whose fault it was, where one call runs through several. */
  readonly blamed?: string;
  /** It has to be asked again. */
  readonly goesOn: boolean;
  /** Answers the job when a pause is in force: who asks again at once is to meet it. */
  readonly tell?: () => void;
}

/** Why a job was not tried, or not to its end. */
export type TurnedAway =
  | { readonly kind: "closing" }
  /** Its tenant has too many waiting. */
  | { readonly kind: "queue_full" }
  /** No runner can be started now. */
  | { readonly kind: "no_runner" }
  /** It waited too long; with `timeoutsInARow`, because calls of its lane do not end in time. */
  | { readonly kind: "waited" } & Pause
  /** Its lane is paused, and pauses are told at once. */
  | { readonly kind: "paused" } & Pause;

export interface Dispatcher<J> {
  /** Each job is answered: by `run`, or by `turnAway`. */
  submit(job: J): void;
  measure(): PoolMeasure;
  /** Ends the runners; what still waits or runs is turned away. */
  close(): Promise<void>;
}

export interface PoolMeasure {
  readonly processIds: readonly number[];
  /** Calls that run, and calls that wait. */
  readonly running: number;
  readonly waiting: number;
}

export interface DispatcherSettings<J, Q, A extends AnswerMessage> {
  readonly command: RunnerCommand;
  readonly limits: QueueLimits;
  /** Whether a job may be displaced: `run` then knows what to do with one. */
  readonly displaces?: boolean;
  /**
   * Runs the jobs of one group, and gives an end for each. Never rejects. Calls `free` when the
   * runner has done its part, before the askers are told, who may have a next call. Where the
   * runner is gone because the job was displaced, it goes on with the ending `displaced`, or is
   * answered.
   */
  run(runner: RunnerProcess<Q, A>, jobs: readonly J[], free: () => void): Promise<TurnEnd[]>;
  turnAway(job: J, reason: TurnedAway): void;
  /** Told of runners that cannot be started. */
  onFault(error: unknown): void;
}

const UNTRIED: TurnEnd = { usedMs: 0, ending: "untried", goesOn: false };

export function openDispatcher<J extends Queued, Q, A extends AnswerMessage>(
  settings: DispatcherSettings<J, Q, A>,
): Dispatcher<J> {
  const { limits, run, turnAway } = settings;
  const shelf = runnerShelf<Q, A>(settings.command, settings.onFault);
  const queue = fairQueue<J>(limits);
  const turns = new Set<Promise<void>>();
  const wake = newAlarm(dispatch);
  /** What is to be done with a group that makes room; there while a runner has it. */
  const displacing = new Map<Waiting<J>, () => void>();
  let isClosed = false;

  function submit(job: J): void {
    const pause = pauseOf(job);
    if (isClosed) turnAway(job, { kind: "closing" });
    else if (pause !== undefined) turnAway(job, { kind: "paused", ...pause });
    else if (enqueue(job, false)) dispatch();
    else turnAway(job, { kind: "queue_full" });
  }

  function pauseOf(job: J): Pause | undefined {
    return limits.tellsPauses
      ? queue.pauseOf(job.tenant, job.lane(), performance.now())
      : undefined;
  }

  function enqueue(job: J, goesOn: boolean): boolean {
    const { tenant } = job;
    const sinceMs = performance.now();
    const isShort = job.isShort();
    return queue.push({ job, tenant, lane: job.lane(), isShort, sinceMs }, goesOn);
  }

  /** Starts what may run now, turns away what has waited too long, and comes back in time. */
  function dispatch(): void {
    const nowMs = performance.now();
    while (turns.size < limits.runners && !isClosed) {
      const group = queue.take(nowMs);
      if (group.length === 0) break;
      const turn = runGroup(group).finally(() => {
        turns.delete(turn);
        dispatch();
      });
      turns.add(turn);
    }
    if (settings.displaces) displaceOne(nowMs);
    for (const { job, ...pause } of queue.expire(nowMs)) {
      turnAway(job, { kind: "waited", ...pause });
    }
    const nextMs = queue.nextChangeMs(nowMs);
    if (nextMs === undefined || isClosed) wake.unset();
    else wake.set(nextMs);
  }

  function displaceOne(nowMs: number): void {
    const [first] = queue.displace(nowMs) ?? [];
    if (first !== undefined) displacing.get(first)?.();
  }

  async function runGroup(group: readonly Waiting<J>[]): Promise<void> {
    const runner = await shelf.take();
    const jobs = group.map(({ job }) => job);
    const [first] = group;
    if (runner !== undefined) {
      displacing.set(first!, runner.displace);
      queue.begin(group, performance.now());
    }
    const ends = runner === undefined ? withoutRunner(jobs) : await runOn(runner, jobs);
    displacing.delete(first!);
    const finished = group.map((waiting, index) => ({ waiting, ...ends[index]! }));
    queue.finish(finished, performance.now());
    for (const { waiting, goesOn, tell } of finished) {
      tell?.();
      if (!goesOn) continue;
      if (isClosed) turnAway(waiting.job, { kind: "closing" });
      else enqueue(waiting.job, true);
    }
  }

  function withoutRunner(jobs: readonly J[]): TurnEnd[] {
    return jobs.map((job) => {
      turnAway(job, { kind: "no_runner" });
      return UNTRIED;
    });
  }

  async function runOn(runner: RunnerProcess<Q, A>, jobs: readonly J[]): Promise<TurnEnd[]> {
    let putBack: Promise<void> | undefined;
    function free(): void {
      putBack = shelf.putBack(runner);
    }
    const ends = await run(runner, jobs, free);
    await (putBack ?? shelf.putBack(runner));
    return ends;
  }

  return {
    submit,
    measure: () => ({
      processIds: shelf.processIds(),
      running: turns.size,
      waiting: queue.waiting(),
    }),
    async close() {
      isClosed = true;
      for (const job of queue.drain()) turnAway(job, { kind: "closing" });
      await shelf.close();
      await Promise.all(turns);
      wake.close();
    },
  };
}
