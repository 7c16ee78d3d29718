/** Loading what a view shows: the answer of a call, its refusal, and asking again. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { settled } from "./settled.ts";

type Answer = { readonly ok: true };

/** What is known so far. While a value is asked for again, the old one stays. */
export interface Loaded<Value> {
  readonly value?: Value;
  readonly refusal?: Refusal;
  readonly isLoading: boolean;
}

export interface Loading<Value> {
  readonly now: ReadonlySignal<Loaded<Value>>;
  /** Asks again. */
  reload(): void;
}

/**
 * Calls `load` at once and whenever one of `reasons` has changed. A call that is no longer wanted
 * is aborted, and its answer never shown.
 */
export function useLoaded<Value extends Answer>(
  load: (signal: AbortSignal) => PromiseLike<Value | Refusal>,
  reasons: readonly unknown[],
): Loading<Value> {
  const loader = useMemo(() => createLoader<Value>(), []);
  useEffect(() => loader.start(load), reasons);
  return loader;
}

interface Loader<Value> extends Loading<Value> {
  /** Returns what ends the call. */
  start(load: (signal: AbortSignal) => PromiseLike<Value | Refusal>): () => void;
}

function createLoader<Value extends Answer>(): Loader<Value> {
  const now = signal<Loaded<Value>>({ isLoading: true });
  let ending = new AbortController();
  let again = () => {};

  async function run(load: (signal: AbortSignal) => PromiseLike<Value | Refusal>): Promise<void> {
    ending.abort();
    const mine = ending = new AbortController();
    now.value = { ...now.peek(), isLoading: true };
    const answer = await settled(() => load(mine.signal));
    if (mine.signal.aborted) return;
    now.value = answer.ok
      ? { value: answer, isLoading: false }
      : { refusal: answer as Refusal, isLoading: false };
  }

  return {
    now,
    reload: () => again(),
    start(load) {
      again = () => void run(load);
      again();
      return () => ending.abort();
    },
  };
}
