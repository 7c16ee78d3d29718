/** A schema drafted from stored events, made when it is asked for. */

import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy_button.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { draftSchema } from "./draft_schema.ts";
import { readRecent } from "./stream_sample.ts";

interface SchemaDraftProps {
  readonly type: string;
  readonly event: string;
}

export function SchemaDraft(props: SchemaDraftProps) {
  const [isAsked, ask] = useState(false);
  return (
    <section aria-label="Schema">
      <h2>Schema of {props.type}.{props.event}</h2>
      {isAsked
        ? <Draft {...props} />
        : <button type="button" onClick={() => ask(true)}>Draft it from recent events</button>}
    </section>
  );
}

function Draft({ type, event }: SchemaDraftProps) {
  const { db } = connection.value;
  const found = useLoaded((signal) => readRecent(type, event, signal), [db, type, event]);
  return (
    <LoadingView of={found}>
      {({ values, streams }) =>
        values.length === 0
          ? <p>None of the newest events of {streams} streams is of this type.</p>
          : <Drafted values={values} streams={streams} />}
    </LoadingView>
  );
}

function Drafted({ values, streams }: { values: readonly unknown[]; streams: number }) {
  const [text, setText] = useState("");
  useEffect(() => setText(JSON.stringify(draftSchema(values), null, 2)), [values]);
  return (
    <>
      <p>
        Drafted from {values.length} {values.length === 1 ? "event" : "events"} in {streams}{" "}
        {streams === 1 ? "stream" : "streams"}: all of them fit. Others may not, so read it before
        you deploy it.
      </p>
      <CopyButton label="Copy the schema" text={text} />
      <pre class="card" tabIndex={0} aria-label="Drafted schema"><bdi>{text}</bdi></pre>
    </>
  );
}
