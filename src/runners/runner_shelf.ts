/**
 * Keeps the runners that are not in use. They are started on demand and ended when they have
 * been idle for long.
 *
 * A runner that ends while it is in use is replaced at once: its user may take another one, and
 * the others should not have to wait then.
 */

import { newAlarm } from "./alarm.ts";
import {
  type AnswerMessage,
  type RunnerCommand,
  type RunnerProcess,
  startRunner,
} from "./runner_process.ts";

export interface RunnerShelf<Q, A extends AnswerMessage> {
  /** Returns a runner that can be asked, or undefined if none can be started now. Never rejects. */
  take(): Promise<RunnerProcess<Q, A> | undefined>;
  /**
   * Resolves when the runner can be taken again, which is at once if it is ready, or when it
   * has ended. Never rejects.
   */
  putBack(runner: RunnerProcess<Q, A>): Promise<void>;
  /** Ids of all runner processes, used or not. */
  processIds(): number[];
  /** Kills all runners, used or not, and waits for their end. */
  close(): Promise<void>;
}

/** How long no start is tried after one has failed. */
const START_PAUSE_MS = 1_000;
const IDLE_MS = 60_000;

/** `onFault` is called for each runner that could not be started. */
export function runnerShelf<Q, A extends AnswerMessage>(
  command: RunnerCommand,
  onFault: (error: unknown) => void,
): RunnerShelf<Q, A> {
  const idle: { readonly runner: RunnerProcess<Q, A>; readonly sinceMs: number }[] = [];
  const sweep = newAlarm(endIdle);
  const alive = new Set<RunnerProcess<Q, A>>();
  /** Runners that are started in place of ended ones; the next `take` gets the first of them. */
  const spares: Promise<RunnerProcess<Q, A> | undefined>[] = [];
  let tryAgainMs = -Infinity;
  let isClosed = false;

  async function start(): Promise<RunnerProcess<Q, A> | undefined> {
    if (isClosed || performance.now() < tryAgainMs) return undefined;
    try {
      const runner = await startRunner<Q, A>(command);
      alive.add(runner);
      runner.ended.then(() => forget(runner));
      // If the shelf was closed during the start, nothing else would end this runner.
      if (isClosed) runner.kill();
      return runner;
    } catch (error) {
      tryAgainMs = performance.now() + START_PAUSE_MS;
      onFault(error);
      return undefined;
    }
  }

  function forget(runner: RunnerProcess<Q, A>): void {
    alive.delete(runner);
    const index = idle.findIndex((each) => each.runner === runner);
    if (index >= 0) idle.splice(index, 1);
    else if (!isClosed) startSpare();
  }

  function startSpare(): void {
    const spare = start();
    spares.push(spare);
    spare.then((runner) => {
      const index = spares.indexOf(spare);
      // It has been taken meanwhile.
      if (index < 0) return;
      spares.splice(index, 1);
      if (runner !== undefined) layDown(runner);
    });
  }

  function layDown(runner: RunnerProcess<Q, A>): void {
    if (isClosed || !alive.has(runner)) return;
    if (idle.length === 0) sweep.set(performance.now() + IDLE_MS);
    idle.push({ runner, sinceMs: performance.now() });
  }

  function endIdle(): void {
    const nowMs = performance.now();
    for (const { runner, sinceMs } of idle) if (sinceMs + IDLE_MS <= nowMs) runner.kill();
    if (idle.length > 0) sweep.set(nowMs + IDLE_MS);
  }

  return {
    take() {
      // Take the one used last: its caches are warm, and the others can reach their idle time.
      const last = idle.pop();
      return last === undefined ? spares.shift() ?? start() : Promise.resolve(last.runner);
    },
    async putBack(runner) {
      try {
        if (!runner.isReady()) await runner.untilReady();
      } catch {
        await runner.ended;
        return;
      }
      layDown(runner);
    },
    processIds: () => [...alive].map(({ pid }) => pid),
    async close() {
      isClosed = true;
      sweep.close();
      idle.splice(0);
      for (const runner of alive) runner.kill();
      await Promise.all(spares.splice(0));
      await Promise.all([...alive].map(({ ended }) => ended));
    },
  };
}
