/** One stream: its events, or its state at any length. */

import { useEffect, useMemo } from "preact/hooks";
import { EmptyState } from "../parts/empty_state.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place } from "../shell/router.ts";
import { callsOf } from "../shell/settled.ts";
import { CausalGraph } from "../graph/graph_page.tsx";
import { EventList, NoSuchEvent } from "./event_list.tsx";
import { eventIndexOf } from "./event_index.ts";
import { openStreamEvents } from "./stream_events.ts";
import { TimeTravel } from "./time_travel.tsx";

export interface StreamProps {
  readonly type: string;
  readonly id: string;
}

const VIEWS = [["events", "Events"], ["states", "Time travel"]] as const;

export function StreamView({ type, id }: StreamProps) {
  const { db } = connection.value;
  const { view = "events", event = "0" } = place.value.query;
  const asked = eventIndexOf(event);
  const length = useLoaded((signal) => callsOf(db, type)(id).length({ signal }), [db]);
  const events = useMemo(() => openStreamEvents(db, type, id), [db]);
  useEffect(() => () => events.stop(), [events]);
  useEffect(() => {
    // The stream may have grown since its length was read.
    const count = length.now.peek().value?.length;
    if (count !== undefined && asked !== undefined && asked >= count) length.reload();
  }, [asked]);
  const isReading = length.now.value.isLoading;
  const refusal = events.refusal.value;
  return (
    <>
      <p>
        <a href={hrefOf(["streams", type])}>All streams of {type}</a>
      </p>
      <h1 class="mono">{type}:{id}</h1>
      <nav class="tabs" aria-label="Views of the stream">
        {VIEWS.map(([name, title]) => (
          <a
            key={name}
            href={hrefOf(["streams", type, id], { view: name === "events" ? undefined : name })}
            aria-current={view === name ? "page" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      <LoadingView of={length}>
        {({ length: count }) => {
          if (count === 0) {
            return (
              <EmptyState title="No events">
                Nothing has been written to this stream.{" "}
                <a href={hrefOf(["write", type, id], { length: 0 })}>Write its first event</a>
              </EmptyState>
            );
          }
          if (view === "causes") {
            if (asked === undefined || asked >= count) {
              return <NoSuchEvent event={event} length={count} isReading={isReading} />;
            }
            return <CausalGraph key={asked} type={type} id={id} index={asked} />;
          }
          const shown = { type, id, length: count, events };
          return (
            <>
              <p>
                <a href={hrefOf(["write", type, id], { length: count })}>Write an event</a>
              </p>
              {view === "states"
                ? <TimeTravel {...shown} />
                : <EventList {...shown} isReading={isReading} />}
            </>
          );
        }}
      </LoadingView>
    </>
  );
}
