/**
 * Waits for what FoundationDB's client will answer. The answers to all calls of one kind and turn
 * are waited for together, on another thread, so this one is woken about once for all of them.
 */

import type { Address, AnswerKind, Futures, Library } from "./native.ts";

/** Threads that wait at once, by kind. Files are read by threads of the same pool, of 512. */
const WAITS_MAX = 32;

interface Pending {
  readonly future: Address;
  /** To be called when it is ready. */
  readonly end: () => void;
}

/** The calls of one kind that have no answer yet. */
interface Line {
  /** Of this turn. */
  fresh: Pending[];
  /** What is waited for, a list for each wait. */
  readonly lists: Set<Pending[]>;
}

export function openFutures({ calls, check }: Library): Futures {
  const newLine = (): Line => ({ fresh: [], lists: new Set() });
  const lines: Record<AnswerKind, Line> = {
    read: newLine(),
    commit: newLine(),
    putOff: newLine(),
  };

  function settle<T>(
    future: Address,
    kind: AnswerKind,
    read: (future: Address) => T,
  ): Promise<T> {
    const line = lines[kind];
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        try {
          check(calls.fdb_future_get_error(future));
          resolve(read(future));
        } catch (error) {
          reject(error);
        } finally {
          calls.fdb_future_destroy(future);
        }
      };
      if (line.fresh.length === 0) queueMicrotask(() => begin(line));
      line.fresh.push({ future, end });
    });
  }

  function begin(line: Line): void {
    const list = line.fresh;
    line.fresh = [];
    if (line.lists.size < WAITS_MAX) {
      waitForAll(line.lists, list);
      return;
    }
    const [longest] = line.lists;
    longest!.push(...list);
  }

  /** Each future belongs to one wait. Only that may end it, because its thread looks at it. */
  async function waitForAll(lists: Set<Pending[]>, list: Pending[]): Promise<void> {
    lists.add(list);
    while (list.length > 0) {
      // Answers come in about the order of the calls.
      const last = list.at(-1)!.future;
      if (calls.fdb_future_is_ready(last) === 0) await calls.untilReady(last);
      for (const pending of list.splice(0)) {
        if (calls.fdb_future_is_ready(pending.future) === 0) list.push(pending);
        else pending.end();
      }
    }
    lists.delete(list);
  }

  return { settle };
}
