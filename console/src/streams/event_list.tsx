/** The events of a stream, of which only the visible ones are loaded, and one of them in full. */

import { Choice } from "../parts/field.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { EventDetail } from "./event_detail.tsx";
import type { StreamEvents } from "./stream_events.ts";

export interface ShownStream {
  readonly type: string;
  readonly id: string;
  readonly length: number;
  readonly events: StreamEvents;
}

const ROW_PX = 40;

export function EventList({ type, id, length, events }: ShownStream) {
  const { order = "oldest", event } = place.value.query;
  const chosen = event === undefined ? undefined : Number(event);
  const isNewest = order === "newest";
  const indexOf = (row: number) => isNewest ? length - 1 - row : row;

  function need(first: number, last: number): void {
    const [a, b] = [indexOf(first), indexOf(last)];
    events.need(Math.min(a, b), Math.max(a, b));
  }

  return (
    <>
      <div class="row">
        <span>{length.toLocaleString("en")} {length === 1 ? "event" : "events"}</span>
        <Choice
          label="Order"
          value={order}
          options={[["oldest", "oldest first"], ["newest", "newest first"]]}
          onChange={(value) => setQuery({ order: value === "oldest" ? undefined : value })}
        />
      </div>
      <div class="columns stream">
        <VirtualList
          // The other order begins at its beginning.
          key={order}
          label={`Events of ${type}:${id}`}
          count={length}
          rowPx={ROW_PX}
          onRange={need}
          shownIndex={chosen === undefined ? undefined : indexOf(chosen)}
          row={(row) => {
            const index = indexOf(row);
            return (
              <Row type={type} id={id} index={index} events={events} isChosen={index === chosen} />
            );
          }}
        />
        {chosen !== undefined && (
          <EventDetail key={chosen} type={type} id={id} index={chosen} events={events} />
        )}
      </div>
    </>
  );
}

interface RowProps extends Omit<ShownStream, "length"> {
  readonly index: number;
  readonly isChosen: boolean;
}

function Row({ type, id, index, events, isChosen }: RowProps) {
  const entry = events.at(index);
  const { order } = place.value.query;
  return (
    <a
      class="event-row"
      href={hrefOf(["streams", type, id], { order, event: index })}
      aria-current={isChosen ? "true" : undefined}
    >
      <span class="number quiet">{index}</span> <strong>{entry?.event.type ?? "Loading"}</strong>
      {" "}
      {entry !== undefined && (
        <span class="quiet">
          <TimeText at={entry.event.metadata.timestamp} />
        </span>
      )}
    </a>
  );
}
