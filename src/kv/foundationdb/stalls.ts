/**
 * Finds calls that the cluster does not answer, and cancels them. FoundationDB's client waits
 * forever for a cluster that is away; here a caller that has waited for four seconds gets an
 * error, and its call is cancelled.
 *
 * Time is counted in turns of one timer, not read from a clock. So if this process itself was
 * held up, the answers that arrived meanwhile are found first.
 */

import { EngineUnavailable } from "../engine.ts";

/** The cluster has not answered for as long as a caller may wait. */
export class ClusterSilent extends EngineUnavailable {}

export interface Stalls {
  /** `cancel` is called once, when a stall is found. */
  track(cancel: () => void): Tracked;
  close(): void;
}

/** A series of calls, each of which needs an answer from the cluster. */
export interface Tracked {
  /**
   * Waits for an answer.
   * @throws {EngineUnavailable} when the series has waited for four seconds without any answer.
   */
  answer<T>(call: Promise<T>): Promise<T>;
  /** Waits for something whose end is no sign of life from the cluster. */
  wait(call: Promise<unknown>): Promise<void>;
  end(): void;
}

export interface StallLimits {
  readonly turnMs: number;
  readonly turnsMax: number;
}

interface Entry {
  turns: number;
  /** Why calls are no longer waited for. */
  stalled: EngineUnavailable | undefined;
  /** Called when that is set. */
  readonly rejects: Set<(reason: EngineUnavailable) => void>;
  readonly cancel: () => void;
}

/** Together with the rest of a call this stays below five seconds. */
const defaultLimits: StallLimits = { turnMs: 250, turnsMax: 16 };

export function openStalls({ turnMs, turnsMax }: StallLimits = defaultLimits): Stalls {
  const entries = new Set<Entry>();
  const seconds = turnMs * turnsMax / 1000;

  function countTurn(): void {
    for (const entry of [...entries]) {
      if (entry.rejects.size === 0 || ++entry.turns < turnsMax) continue;
      entries.delete(entry);
      const message = `FoundationDB has not answered for ${seconds} seconds`;
      entry.stalled = new ClusterSilent(message);
      for (const reject of entry.rejects) reject(entry.stalled);
      entry.rejects.clear();
      entry.cancel();
    }
  }

  const timer = setInterval(countTurn, turnMs);

  function track(cancel: () => void): Tracked {
    const entry: Entry = { turns: 0, stalled: undefined, rejects: new Set(), cancel };
    entries.add(entry);

    // One promise for each call, and no race of two: every read passes through here.
    function orStalled<T>(call: Promise<T>, onAnswer: () => void): Promise<T> {
      return new Promise((resolve, reject) => {
        if (entry.stalled === undefined) entry.rejects.add(reject);
        else reject(entry.stalled);
        call.then((value) => {
          entry.rejects.delete(reject);
          onAnswer();
          resolve(value);
        }, (reason) => {
          entry.rejects.delete(reject);
          // A refusal is a sign of life too.
          onAnswer();
          reject(reason);
        });
      });
    }
    function noteLife(): void {
      entry.turns = 0;
    }
    return {
      answer: (call) => orStalled(call, noteLife),
      async wait(call) {
        await orStalled(call, () => {});
      },
      end: () => void entries.delete(entry),
    };
  }
  return { track, close: () => clearInterval(timer) };
}
