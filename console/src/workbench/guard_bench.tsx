/** The guards of one event type as text, and which of the newest events they would refuse. */

import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { openPastStates, type PastStates } from "../../../src/domain/handler/guard.ts";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { ownMember } from "../shell/own_member.ts";
import { runInSlices } from "../shell/slices.ts";
import { compileHandlers, type Handlers } from "../shell/stream_fold.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { HandlerFaults } from "./handler_faults.tsx";
import {
  type EditedGuards,
  type EventsToJudge,
  findOthers,
  JUDGED_MAX,
  type JudgedEvents,
  judgeEvents,
  readGuards,
} from "./judge_events.ts";
import { readStream, type StreamSample } from "./stream_sample.ts";

const FAILED_SHOWN = 20;
/** So many events of another aggregate are read at most. */
const OTHER_EVENTS_MAX = 2_000;

export interface GuardBenchProps {
  readonly type: string;
  readonly event: string;
  readonly aggregateType: unknown;
  /** The deployed ones. */
  readonly guards: unknown;
  readonly spec: unknown;
  /** The id of the stream; empty if none is chosen. */
  readonly stream: string;
}

export function GuardBench(props: GuardBenchProps) {
  const { type, event, aggregateType, guards, spec, stream } = props;
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(guards ?? [], null, 2));
  const handlers = useMemo(() => compileHandlers(aggregateType), [aggregateType]);
  const read = useMemo(() => readGuards(text, spec), [text, spec]);
  if (handlers === undefined) return null;
  return (
    <section aria-label="Guards">
      <div class="field">
        <label for={id}>Guards of {type}.{event}</label>
        <textarea
          id={id}
          class="mono"
          rows={Math.min(12, text.split("\n", 12).length + 1)}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </div>
      {!read.ok && <HandlerFaults faults={read.faults} />}
      {read.ok && stream !== "" && (
        <JudgedStream key={stream} {...{ type, event, handlers, stream, read, spec }} />
      )}
    </section>
  );
}

interface JudgedProps {
  readonly type: string;
  readonly event: string;
  readonly handlers: Handlers;
  readonly read: Extract<EditedGuards, { readonly ok: true }>;
  readonly spec: unknown;
  readonly stream: string;
}

function JudgedStream(props: JudgedProps) {
  const { type, stream } = props;
  const { db } = connection.value;
  const sample = useLoaded((signal) => readStream(type, stream, signal), [db, type, stream]);
  return <LoadingView of={sample}>{(found) => <Verdict {...props} sample={found} />}</LoadingView>;
}

/** Reads the other aggregates that the guards look at, then judges; undefined if it was ended. */
async function judge(
  given: EventsToJudge,
  { singletons }: JudgedProps["read"],
  spec: unknown,
  signal: AbortSignal,
): Promise<JudgedEvents | undefined> {
  const others = await runInSlices(findOthers(given, singletons), signal, () => {});
  const pasts = new Map<string, PastStates>();
  for (const [key, type] of others ?? []) {
    const handlers = compileHandlers(ownMember(ownMember(spec, "aggregate_types"), type));
    if (handlers === undefined || signal.aborted) continue;
    const sample = await readStream(type, key.slice(type.length + 1), signal, OTHER_EVENTS_MAX);
    const isWhole = sample.ok && "events" in sample && sample.events.length === sample.length;
    if (isWhole) pasts.set(key, openPastStates(handlers, sample.events));
  }
  if (others === undefined || signal.aborted) return undefined;
  return await runInSlices(judgeEvents(given, { singletons, pasts }), signal, () => {});
}

function Verdict(
  { type, event, handlers, read, spec, stream, sample }: JudgedProps & {
    readonly sample: StreamSample;
  },
) {
  const [found, setFound] = useState<JudgedEvents>();
  useEffect(() => {
    const ending = new AbortController();
    const { guards } = read;
    const given = { handlers, guards, events: sample.events, eventType: event };
    void judge(given, read, spec, ending.signal).then((last) => last && setFound(last));
    return () => ending.abort();
  }, [handlers, read, sample, event, spec]);
  if (found === undefined) return null;
  return (
    <>
      <Failures {...found} {...{ type, event, stream }} />
      {found.untried > 0 && (
        <p>
          {found.untried.toLocaleString("en")}{" "}
          more could not be judged: their guards look at streams that are too many, too long, or
          folded by modules.
        </p>
      )}
    </>
  );
}

function Failures(
  { type, event, stream, judged, failed }: JudgedEvents & Pick<JudgedProps, "type" | "event"> & {
    readonly stream: string;
  },
) {
  const among = `the last ${JUDGED_MAX.toLocaleString("en")} events of this stream`;
  if (failed.length === 0) {
    return <p role="status">No guard would fail for the {judged} of {event} among {among}.</p>;
  }
  return (
    <div class="note warning" role="status">
      <p>{failed.length} of {judged} of {event} among {among} would be refused:</p>
      <ul>
        {failed.slice(-FAILED_SHOWN).map(({ index, guard, message }) => (
          <li key={index}>
            <a href={hrefOfStream(`${type}:${stream}`, String(index))}>event {index}</a>, guard{" "}
            {guard + 1}: <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
    </div>
  );
}
