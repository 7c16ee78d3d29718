/** One handler as text, and what streams become under it and under the deployed one. */

import { useId, useMemo, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy_button.tsx";
import { connection } from "../shell/connection.ts";
import { goTo } from "../shell/router.ts";
import { compileHandlers } from "../shell/stream_fold.ts";
import { keepDraft, readDraft } from "../spec/kept_draft.ts";
import { ManyStreams } from "./many_streams.tsx";
import { keepHandler, readHandler } from "./kept_handlers.ts";
import { putHandler } from "./put_handler.ts";
import { TriedStream } from "./tried_stream.tsx";

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

export function HandlerBench(props: HandlerBenchProps) {
  const { type, event, aggregateType, handler, stream, spec } = props;
  const id = useId();
  const deployedText = useMemo(() => JSON.stringify(handler ?? [], null, 2), [handler]);
  const handlers = useMemo(() => compileHandlers(aggregateType), [aggregateType]);
  const name = { instanceId: connection.value.instanceId, type, event };
  const [text, setText] = useState(() => readHandler(name) ?? deployedText);
  const [isKept, setKept] = useState(true);
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
  const isChanged = text !== deployedText;
  function change(to: string): void {
    setKept(keepHandler(name, to === deployedText ? undefined : to));
    setText(to);
    setUntaken(undefined);
  }
  /** Into the draft of the spec, where it is checked with the rest and deployed. */
  function take(): void {
    const { instanceId } = connection.peek();
    const draft = readDraft(instanceId) ?? `${JSON.stringify(spec, null, 2)}\n`;
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
      {isChanged && (
        <div class="note row" role="status">
          <span>
            {isKept
              ? "You have changed this handler. The change stays in this tab when you leave the page."
              : "This text is too long to stay in the tab: copy it before you leave the page."}
          </span>
          <button type="button" onClick={() => change(deployedText)}>Discard the change</button>
        </div>
      )}
      <div class="row">
        <CopyButton label="Copy the handler" text={text} />
        <button type="button" disabled={!isChanged} onClick={take}>
          Copy this change into the spec draft
        </button>
      </div>
      {untaken !== undefined && <p class="note danger" role="alert">{untaken}</p>}
      <ManyStreams {...{ type, event, handlers, text, isChanged }} />
      {stream === ""
        ? <p class="quiet" role="status">Choose a stream to see what it becomes.</p>
        : <TriedStream key={stream} {...{ type, event, handlers, text, isChanged, stream }} />}
    </section>
  );
}
