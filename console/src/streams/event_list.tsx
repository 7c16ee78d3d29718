/** The events of a stream, of which only the visible ones are loaded, and one of them in full. */

import { Choice } from "../parts/field.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { VirtualList } from "../parts/virtual_list.tsx";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { EventDetail } from "./event_detail.tsx";
import { eventIndexOf } from "./event_index.ts";
import type { StreamEvents } from "./stream_events.ts";

export interface ShownStream {
  readonly type: string;
  readonly id: string;
  readonly length: number;
  readonly events: StreamEvents;
}

const ROW_PX = 40;

export interface EventListProps extends ShownStream {
  /** The length is being read again, so an event that is missing may be there soon. */
  readonly isReading: boolean;
}

export function EventList({ type, id, length, events, isReading }: EventListProps) {
  const { order = "oldest", event } = place.value.query;
  const asked = event === undefined ? undefined : eventIndexOf(event);
  const chosen = asked !== undefined && asked < length ? asked : undefined;
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
        {event !== undefined && chosen === undefined && (
          <NoSuchEvent event={event} length={length} isReading={isReading} />
        )}
      </div>
    </>
  );
}

export interface NoSuchEventProps extends Pick<EventListProps, "length" | "isReading"> {
  readonly event: string;
}

export function NoSuchEvent({ event, length, isReading }: NoSuchEventProps) {
  if (isReading) return <p class="quiet" role="status">Loading</p>;
  return (
    <p class="note warning" role="alert">
      There is no event{" "}
      <bdi class="wrap">{event}</bdi>. The events of this stream are numbered from 0 to{" "}
      {length - 1}.
    </p>
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
