/** One handler as text, and what a stream becomes under it and under the deployed one. */

import { useEffect, useId, useMemo, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy_button.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { useLoaded } from "../shell/loaded.ts";
import { connection } from "../shell/connection.ts";
import { goTo } from "../shell/router.ts";
import { runInSlices } from "../shell/slices.ts";
import { compileHandlers, type Handlers } from "../shell/stream_fold.ts";
import { keepDraft, readDraft } from "../spec/kept_draft.ts";
import { compareFolds, type Comparison, editHandlers, type HandlerFault } from "./compare_folds.ts";
import { putHandler } from "./put_handler.ts";
import { readStream, type StreamSample } from "./stream_sample.ts";
import { TwoStates } from "./two_states.tsx";

/** So long after the last key, what is typed is folded. */
const PAUSE_MS = 250;
const FAULTS_SHOWN = 20;

export interface HandlerBenchProps {
  readonly type: string;
  readonly event: string;
  readonly aggregateType: unknown;
  /** The deployed one, whole. */
  readonly spec: unknown;
  /** The deployed one. */
  readonly handler: unknown;
  /** The id of the stream; empty if none is chosen. */
  readonly stream: string;
}

/** A longer text is not kept while somebody types. */
const KEPT_CHARACTERS_MAX = 100_000;

export function HandlerBench(props: HandlerBenchProps) {
  const { type, event, aggregateType, handler, stream, spec } = props;
  const id = useId();
  const deployedText = useMemo(() => JSON.stringify(handler ?? [], null, 2), [handler]);
  const handlers = useMemo(() => compileHandlers(aggregateType), [aggregateType]);
  const name = `daybook.handler.${connection.value.instanceId}.${type}.${event}`;
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? deployedText);
  const [untaken, setUntaken] = useState<string>();
  if (handlers === undefined) {
    return (
      <p class="note warning">
        A handler of {type}{" "}
        is a WebAssembly module, which is not run in a browser. A dry run with check_data tells what
        a spec would change.
      </p>
    );
  }
  function change(to: string): void {
    keepText(name, to === deployedText ? undefined : to);
    setText(to);
    setUntaken(undefined);
  }
  /** Into the draft of the spec, where it is checked with the rest and deployed. */
  function take(): void {
    const { instanceId } = connection.peek();
    const draft = readDraft(instanceId) ?? JSON.stringify(spec);
    const put = putHandler(draft, { type, event, handler: text });
    if (!put.ok) return setUntaken(put.error);
    keepDraft(instanceId, put.text);
    goTo(["spec", "edit"]);
  }
  return (
    <section aria-label="Handler">
      <div class="field">
        <label for={id}>Handler of {type}.{event}</label>
        <textarea
          id={id}
          class="mono"
          rows={Math.min(24, text.split("\n", 24).length + 1)}
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => change(currentTarget.value)}
        />
      </div>
      <div class="row">
        <button type="button" disabled={text === deployedText} onClick={() => change(deployedText)}>
          Back to the deployed one
        </button>
        <CopyButton label="Copy the handler" text={text} />
        <button type="button" disabled={text === deployedText} onClick={take}>
          Take it into the spec
        </button>
      </div>
      {untaken !== undefined && <p class="note danger" role="alert">{untaken}</p>}
      {stream === ""
        ? <p class="quiet" role="status">Choose a stream to see what it becomes.</p>
        : <Folded key={stream} {...{ type, event, handlers, text, stream }} />}
    </section>
  );
}

/** In the tab, until whoever has signed in signs out. */
function keepText(name: string, text: string | undefined): void {
  try {
    if (text === undefined || text.length > KEPT_CHARACTERS_MAX) sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, text);
  } catch {
    sessionStorage.removeItem(name);
  }
}

interface FoldedProps {
  readonly type: string;
  readonly event: string;
  readonly handlers: Handlers;
  readonly text: string;
  readonly stream: string;
}

function Folded(props: FoldedProps) {
  const { type, stream } = props;
  const { db } = connection.value;
  const sample = useLoaded((signal) => readStream(type, stream, signal), [db, type, stream]);
  return (
    <LoadingView of={sample}>
      {(found) =>
        found.length === 0
          ? <p class="note warning">{type} has no stream with this id.</p>
          : <Tried {...props} sample={found} />}
    </LoadingView>
  );
}

interface Tried {
  readonly comparison?: Comparison;
  readonly faults?: readonly HandlerFault[];
}

function Tried(props: FoldedProps & { readonly sample: StreamSample }) {
  const { comparison, faults, isBehind } = useComparison(props);
  const { sample: { events, length }, type, stream } = props;
  return (
    <>
      {events.length < length && (
        <p class="note warning">
          Only the first {events.length.toLocaleString("en")} of {length.toLocaleString("en")}{" "}
          events are folded here.
        </p>
      )}
      {faults !== undefined && <Faults faults={faults} />}
      {comparison !== undefined && (
        <TwoStates
          comparison={comparison}
          type={type}
          stream={stream}
          isOld={isBehind || faults !== undefined}
        />
      )}
    </>
  );
}

/** Folds what is typed, in slices; what is typed meanwhile ends it. */
function useComparison(
  { handlers, event, text, sample }: FoldedProps & { readonly sample: StreamSample },
): Tried & { readonly isBehind: boolean } {
  const [tried, setTried] = useState<Tried & { readonly of?: string }>({});
  useEffect(() => {
    const ending = new AbortController();
    const timer = setTimeout(() => void run(ending.signal), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };

    async function run(signal: AbortSignal): Promise<void> {
      const edited = editHandlers(handlers, event, text);
      if (!edited.ok) {
        return setTried(({ comparison }) => ({ comparison, faults: edited.faults, of: text }));
      }
      const comparison = await runInSlices(
        compareFolds(handlers, edited.handlers, sample.events, event),
        signal,
      );
      if (comparison !== undefined) setTried({ comparison, of: text });
    }
  }, [handlers, event, text, sample]);
  return { ...tried, isBehind: tried.of !== text };
}

function Faults({ faults }: { faults: readonly HandlerFault[] }) {
  return (
    <div class="note danger" role="alert">
      <p>
        <strong>This is not a handler yet.</strong>
      </p>
      <ul>
        {faults.slice(0, FAULTS_SHOWN).map(({ path, message, hint }, index) => (
          <li key={index}>
            {path !== "" && <code>{path}</code>} {message}{" "}
            {hint && <span class="quiet">{hint}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}
