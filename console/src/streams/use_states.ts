/**
 * Two states of a stream. They are folded in the browser where the spec can be read and the events
 * are not too many; else the server is asked for each.
 */

import { useEffect, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { connection } from "../shell/connection.ts";
import { runInSlices } from "../shell/slices.ts";
import { readAggregateTypes } from "../shell/spec.ts";
import { compileHandlers, createTimeline, type Timeline } from "../shell/stream_fold.ts";
import type { ShownStream } from "./event_list.tsx";
import type { Entry } from "./stream_events.ts";

/** The states after `base` and after `shown` events. */
export interface Pair {
  readonly base: number;
  readonly shown: number;
  readonly before?: unknown;
  readonly after?: unknown;
  /** Whether `before` is known; it may come later. */
  readonly isComplete?: boolean;
  readonly refusal?: Refusal;
}

/** So many events, and characters of JSON, are loaded into the page at most. */
const EVENTS_FOLDED_MAX = 200_000;
const CHARACTERS_FOLDED_MAX = 64 * 1024 * 1024;

export function useStates(
  stream: ShownStream,
  base: number,
  shown: number,
): readonly [Pair, Timeline | undefined] {
  const [asked, setAsked] = useState<Pair>({ base, shown });
  const hasAnswer = asked.after !== undefined || asked.refusal !== undefined;
  const timeline = useTimeline(stream, hasAnswer);
  const { db } = connection.value;
  useEffect(() => {
    if (timeline !== undefined) return;
    const ending = new AbortController();
    void askStates(stream, { base, shown }, (pair) => {
      if (!ending.signal.aborted) setAsked(pair);
    }, ending.signal);
    return () => ending.abort();
  }, [timeline, db, base, shown]);
  if (timeline === undefined) return [asked, undefined];
  const before = timeline.stateAt(base);
  const after = timeline.stateAt(shown);
  return [{ base, shown, before, after, isComplete: true }, timeline];
}

/** Tells what is known as it comes: first the state that is shown, for most look at that. */
async function askStates(
  { type, id }: ShownStream,
  { base, shown }: Pair,
  tell: (pair: Pair) => void,
  signal: AbortSignal,
): Promise<void> {
  const handle = connection.peek().db[type]!(id);
  const after = await handle.get({ at_length: shown, signal });
  if (!after.ok) return tell({ base, shown, refusal: after as Refusal });
  tell({ base, shown, after: after.data });
  const before = await handle.get({ at_length: base, signal });
  tell(
    before.ok
      ? { base, shown, after: after.data, before: before.data, isComplete: true }
      : { base, shown, after: after.data, refusal: before as Refusal },
  );
}

/**
 * Undefined until all events are there, and where they cannot be folded here. Does not begin before
 * it `mayLoad`, so that the server has time for what is shown first.
 */
function useTimeline(
  { type, length, events }: ShownStream,
  mayLoad: boolean,
): Timeline | undefined {
  const [timeline, setTimeline] = useState<Timeline>();
  useEffect(() => {
    if (!mayLoad || length > EVENTS_FOLDED_MAX) return;
    const ending = new AbortController();
    void load(ending.signal);
    return () => ending.abort();

    async function load(signal: AbortSignal): Promise<void> {
      const types = await readAggregateTypes(signal);
      const handlers = compileHandlers(types?.[type]);
      if (handlers === undefined) return;
      if (!await events.loadFirst(length, CHARACTERS_FOLDED_MAX) || signal.aborted) return;
      const all = Array.from({ length }, (_, index) => (events.at(index) as Entry).event);
      const timeline = createTimeline(handlers, all as Parameters<typeof createTimeline>[1]);
      await runInSlices(timeline.prepare(), signal);
      if (!signal.aborted) setTimeline(timeline);
    }
  }, [events, length, mayLoad]);
  return timeline;
}
