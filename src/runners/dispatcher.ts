/**
 * A pool of runners: a few processes, started on demand and ended when idle, with a fair queue.
 * The owner of a job decides what to ask of the runner and what its answer means. The
 * dispatcher decides when the job runs, and makes sure that it is answered in any case.
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

/** What the queue needs to know about a job. */
export interface Queued {
  readonly tenant: string;
  /** Jobs of one lane are paused together when one of them does not end in time. */
  lane(): string;
  /** Whether it may run in one group with other jobs of its tenant. */
  isShort(): boolean;
}

/** How a job's turn ended. */
export interface TurnEnd {
  readonly usedMs: number;
  readonly ending: Ending;
  /** The lane at fault, if one call runs through several. */
  readonly blamed?: string;
  /** The job is not done: it goes back to the queue. */
  readonly goesOn: boolean;
  /**
   * Answers the job. It is called once the pause is in force, so that an asker who retries at
   * once meets the pause.
   */
  readonly tell?: () => void;
}

/** Why a job was not tried, or not to its end. */
export type TurnedAway =
  | { readonly kind: "closing" }
  /** Its tenant has too many jobs waiting. */
  | { readonly kind: "queue_full" }
  /** No runner can be started now. */
  | { readonly kind: "no_runner" }
  /**
   * It waited too long; if `timeoutsInARow` is above 0, because calls of its lane do not end in
   * time.
   */
  | { readonly kind: "waited" } & Pause
  /** Its lane is paused, and with `tellsPauses` it does not wait for the end of the pause. */
  | { readonly kind: "paused" } & Pause;

export interface Dispatcher<J> {
  /** Every job is answered: either by `run` or by `turnAway`. */
  submit(job: J): void;
  measure(): PoolMeasure;
  /** Ends the runners; jobs that still wait or run are turned away. */
  close(): Promise<void>;
}

export interface PoolMeasure {
  readonly processIds: readonly number[];
  /** Turns that run, one for each busy runner, and jobs that wait. */
  readonly running: number;
  readonly waiting: number;
}

export interface DispatcherSettings<J, Q, A extends AnswerMessage> {
  readonly command: RunnerCommand;
  readonly limits: QueueLimits;
  /** Whether a job may be displaced; if so, `run` must handle a displaced job. */
  readonly displaces?: boolean;
  /**
   * Runs the jobs of one group and returns an end for each. Never rejects. Calls `free` when
   * the runner has done its part, before the askers are answered, because they may ask again at
   * once. If the runner was killed to displace the job, the job either goes on with the ending
   * `displaced` or is answered.
   */
  run(runner: RunnerProcess<Q, A>, jobs: readonly J[], free: () => void): Promise<TurnEnd[]>;
  turnAway(job: J, reason: TurnedAway): void;
  /** Called when a runner cannot be started. */
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
  /** How to displace a group, by its first job; present while a runner has the group. */
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

  /**
   * Starts the jobs that may run now, turns away those that have waited too long, and sets the
   * alarm for the next change.
   */
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
