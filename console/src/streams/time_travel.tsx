/** The state of a stream after any number of its events: what changed, and since which event. */

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { ChangedFields } from "../parts/changed_fields.tsx";
import { Field } from "../parts/field.tsx";
import { type JsonPath, JsonView } from "../parts/json_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { shownPath } from "../parts/shown_path.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { runInSlices } from "../shell/slices.ts";
import { changesBetween, lastToChange } from "../shell/state_changes.ts";
import type { Timeline } from "../shell/stream_fold.ts";
import { type Blame, BlameNote } from "./blame_note.tsx";
import type { ShownStream } from "./event_list.tsx";
import { type Pair, useStates } from "./use_states.ts";

export function TimeTravel(stream: ShownStream) {
  const { type, id, length, events } = stream;
  const { query } = place.value;
  const shown = clamp(query.length, length, length);
  const base = clamp(query.base, length, Math.max(0, shown - 1));
  const [pair, timeline] = useStates(stream, base, shown);
  const index = shown - 1;
  useEffect(() => events.need(Math.max(0, index), Math.max(0, index)), [events, index]);
  const entry = index < 0 ? undefined : events.at(index);
  return (
    <>
      <div class="field">
        <label for="length">State after {shown} of {length} events</label>
        <input
          id="length"
          type="range"
          min={0}
          max={length}
          value={shown}
          onInput={(event) => setQuery({ length: event.currentTarget.value }, { isFleeting: true })}
        />
      </div>
      <div class="row">
        <button
          type="button"
          disabled={shown === 0}
          onClick={() => setQuery({ length: shown - 1 })}
        >
          Event before
        </button>
        <button
          type="button"
          disabled={shown === length}
          onClick={() => setQuery({ length: shown + 1 })}
        >
          Next event
        </button>
        <Field
          label="Compared with the state after"
          type="number"
          value={base}
          onInput={(value) => setQuery({ base: value })}
        />
        {query.base !== undefined && (
          <button
            type="button"
            onClick={() => setQuery({ base: undefined })}
          >
            Compare with the event before
          </button>
        )}
      </div>
      <p aria-live="polite">
        {entry === undefined ? "Before the first event." : (
          <>
            Event {index}:{" "}
            <a href={hrefOf(["streams", type, id], { event: index })}>{entry.event.type}</a>
          </>
        )}
      </p>
      {pair.refusal !== undefined && <RefusalNote refusal={pair.refusal} />}
      {pair.after !== undefined && <Compared pair={pair} timeline={timeline} {...stream} />}
    </>
  );
}

function clamp(text: string | undefined, length: number, otherwise: number): number {
  const number = Number(text);
  if (text === undefined || !Number.isInteger(number)) return otherwise;
  return Math.min(length, Math.max(0, number));
}

interface ComparedProps extends ShownStream {
  readonly pair: Pair;
  readonly timeline: Timeline | undefined;
}

function Compared({ pair, timeline, ...stream }: ComparedProps) {
  const { before, after, shown } = pair;
  const changes = useMemo(
    () => pair.isComplete ? changesBetween(before, after) : undefined,
    [before, after, pair.isComplete],
  );
  const [blamed, askBlame] = useBlame(timeline, shown);
  const behind = useMemo(
    () =>
      timeline === undefined ? undefined : (path: JsonPath) => <AskBlame {...{ path, askBlame }} />,
    [timeline],
  );
  return (
    <div class="columns">
      <section class="card" aria-label="State">
        <h2>State</h2>
        <JsonView
          value={after}
          comparedWith={pair.isComplete ? { before } : undefined}
          after={behind}
        />
        <div class="note blamed" role="status" hidden={blamed === undefined}>
          {blamed !== undefined && timeline !== undefined && (
            <BlameNote blame={blamed} {...{ stream, timeline }} />
          )}
        </div>
      </section>
      <section class="card" aria-label="Changes">
        <h2>Changes since {pair.base} {pair.base === 1 ? "event" : "events"}</h2>
        {changes === undefined ? <p>…</p> : <ChangedFields changes={changes} />}
      </section>
    </div>
  );
}

interface AskBlameProps {
  readonly path: JsonPath;
  readonly askBlame: (path: JsonPath) => void;
}

function AskBlame({ path, askBlame }: AskBlameProps) {
  if (path.length === 0) return null;
  return (
    <button
      type="button"
      class="small blame"
      aria-label={`Which event set ${shownPath(path)}`}
      onClick={(event) => {
        event.preventDefault();
        askBlame(path);
      }}
    >
      which event?
    </button>
  );
}

/** Who last changed a value, and asking for it; forgotten when another state is shown. */
function useBlame(
  timeline: Timeline | undefined,
  shown: number,
): readonly [Blame | undefined, (path: JsonPath) => void] {
  const [blame, setBlame] = useState<Blame>();
  const path = blame?.isLooking === true ? blame.path : undefined;
  useEffect(() => setBlame(undefined), [timeline, shown]);
  useEffect(() => {
    if (path === undefined || timeline === undefined) return;
    const ending = new AbortController();
    void runInSlices(lastToChange(timeline, path, shown), ending.signal).then((index) => {
      if (!ending.signal.aborted) setBlame({ path, isLooking: false, index });
    });
    return () => ending.abort();
  }, [timeline, path, shown]);
  const ask = useCallback((path: JsonPath) => setBlame({ path, isLooking: true }), []);
  return [blame, ask];
}
