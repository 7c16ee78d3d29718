/** What caused an event and what it has set off: drawn, and as a list. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { eventId } from "../shell/event_id.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";
import { type EffectsGraph, idOfEvent, NODES_MAX } from "./effects_graph.ts";
import { GraphDrawing } from "./graph_drawing.tsx";
import { GraphLegend } from "./graph_legend.tsx";
import { GraphList } from "./graph_list.tsx";
import { type LoadedGraph, loadGraph } from "./load_graph.ts";
import { rootOf } from "./tree_layout.ts";

export interface GraphProps {
  readonly type: string;
  readonly id: string;
  /** The number of the event in its stream. */
  readonly index: number;
}

export function CausalGraph({ type, id, index }: GraphProps) {
  const { db } = connection.value;
  const start = useMemo(
    () => ({ key: `${type}:${id}`, stream_id: eventId(index) }),
    [type, id, index],
  );
  const loaded = useLoaded((signal) => loadGraph(db, start, signal), [db, start]);
  return (
    <section aria-label={`Causes and effects of event ${index}`}>
      <p>
        <a href={hrefOf(["streams", type, id], { event: index })}>Event {index} in its stream</a>
      </p>
      <LoadingView of={loaded}>
        {(first) => <Growing key={idOfEvent(start)} first={first} start={idOfEvent(start)} />}
      </LoadingView>
      <button type="button" onClick={loaded.reload}>Reload</button>
    </section>
  );
}

/** The graph, which grows when the reader wants more of it. */
function Growing({ first, start }: { first: LoadedGraph; start: string }) {
  const [grown, setGrown] = useState(first);
  const [asked, setAsked] = useState(0);
  useEffect(() => setGrown(first), [first]);
  useEffect(() => {
    if (asked === 0) return;
    const ending = new AbortController();
    void grown.loadMore(ending.signal).then((answer) => {
      if (ending.signal.aborted) return;
      setGrown(answer.ok ? answer as LoadedGraph : { ...grown, refusal: answer as Refusal });
    });
    return () => ending.abort();
  }, [asked]);
  const { graph, complete, truncated, refusal } = grown;
  const root = useMemo(() => rootOf(graph, start), [graph]);
  return (
    <>
      <Summary graph={graph} root={root} start={start} />
      <GraphLegend />
      <GraphDrawing graph={graph} root={root} start={start} />
      {graph.isCut && (
        <p class="note">
          Only {NODES_MAX.toLocaleString("en")} things are shown. Each event leads on to its own.
        </p>
      )}
      {truncated && <p class="note">There is more than the server shows at once.</p>}
      {!complete && <p class="note">What ended more than 30 days ago may be missing.</p>}
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      {graph.unknown.length > 0 && !graph.isCut && (
        <button
          type="button"
          onClick={() => setAsked(asked + 1)}
        >
          {`Load what ${graph.unknown.length} more events have set off`}
        </button>
      )}
      <h2>As a list</h2>
      <GraphList graph={graph} root={root} start={start} />
    </>
  );
}

interface Shown {
  readonly graph: EffectsGraph;
  readonly root: string;
  readonly start: string;
}

function Summary({ graph, root, start }: Shown) {
  const count = graph.nodes.size;
  return (
    <p role="status">
      {count === 1
        ? "It has no cause in Daybook and has set nothing off."
        : `${count.toLocaleString("en")} things: causes on the left, effects on the right.`}{" "}
      {count > 1 && root === start && "No event has caused this one: it was written directly."}
    </p>
  );
}
