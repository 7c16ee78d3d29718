/** One event in full: what it says, who wrote it, its place in the chain, what it has set off. */

import { useEffect, useMemo } from "preact/hooks";
import type { EventEffects } from "@daybook/client";
import { CopyButton } from "../parts/copy_button.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { startBefore } from "../shell/event_id.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";
import { callsOf } from "../shell/settled.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import type { Entry, StreamEvents } from "./stream_events.ts";

export interface EventDetailProps {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  readonly events: StreamEvents;
}

export function EventDetail({ type, id, index, events }: EventDetailProps) {
  useEffect(() => events.need(index, index), [events, index]);
  // Its page may be dropped while the list beside it shows others.
  const kept = useMemo<{ entry?: Entry | undefined }>(() => ({}), [events, index]);
  const entry = kept.entry ??= events.at(index);
  if (entry === undefined) return <p class="quiet" role="status">Loading</p>;
  const { event, hash } = entry;
  return (
    <section class="card" aria-label={`Event ${index}`}>
      <h2>{index}: {event.type}</h2>
      <p class="quiet">
        <TimeText at={event.metadata.timestamp} /> by {event.metadata.actor?.type ?? "nobody"}{" "}
        <code>{event.metadata.actor?.id}</code>
      </p>
      <CausedBy metadata={event.metadata as Metadata} />
      <h3>Data</h3>
      <JsonView value={event.data} />
      <h3>Metadata</h3>
      <JsonView value={event.metadata} openLevels={1} />
      <h3>Chain hash</h3>
      <p class="mono wrap">{hash}</p>
      <div class="row">
        <CopyButton label="Copy as JSON" text={() => JSON.stringify(entry, null, 2)} />
        <CopyButton label="Copy as curl" text={() => curlOf(type, id, index)} />
        <CopyButton label="Copy as TypeScript" text={() => clientCallOf(type, id, index)} />
        <a
          class="button"
          href={hrefOf(["streams", type, id], { view: "states", length: index + 1 })}
        >
          State after it
        </a>
        <a class="button" href={hrefOf(["streams", type, id], { view: "causes", event: index })}>
          Causes and effects
        </a>
        <a class="button" href={hrefOf(["proof", type, id, String(index)])}>Prove it</a>
      </div>
      <Effects type={type} id={id} index={index} />
    </section>
  );
}

interface Metadata {
  readonly implied_by?: {
    readonly key: string;
    readonly stream_id: string;
    readonly event_type?: string;
  };
  readonly saga?: { readonly name: string };
  readonly scheduled?: object;
}

/** The event behind one that the service itself has written. */
function CausedBy({ metadata: { implied_by: cause, saga, scheduled } }: { metadata: Metadata }) {
  if (cause === undefined) return null;
  const by = saga !== undefined
    ? ` by the saga ${saga.name}`
    : scheduled !== undefined
    ? ", when its time had come"
    : "";
  return (
    <p>
      Written because of{" "}
      <a href={hrefOfStream(cause.key, cause.stream_id)}>
        {cause.event_type ?? "an event"} of {cause.key}
      </a>
      {by}.
    </p>
  );
}

/** Reads this event; the key stays out of what is copied. */
function curlOf(type: string, id: string, index: number): string {
  const start = startBefore(index);
  const query = `count=1${start === undefined ? "" : `&start=${start}`}`;
  const path = `${encodeURIComponent(type)}/${encodeURIComponent(id)}`;
  const url = `${location.origin}/${path}/events?${query}`;
  return `curl -s -H "Authorization: Bearer $DAYBOOK_KEY" '${url}'`;
}

function clientCallOf(type: string, id: string, index: number): string {
  const start = startBefore(index);
  const from = start === undefined ? "" : `, start: "${start}"`;
  return `const { data: [entry] } = await db.${type}(${JSON.stringify(id)})` +
    `.eventsPage({ count: 1${from} }).orThrow();`;
}

function Effects({ type, id, index }: Omit<EventDetailProps, "events">) {
  const { db } = connection.value;
  const effects = useLoaded(
    (signal) => callsOf(db, type)(id).effects(index, { depth: 8, signal }),
    [db, index],
  );
  return (
    <>
      <h3>What it set off</h3>
      <LoadingView of={effects}>
        {({ data, complete, truncated }) => (
          <>
            <ul class="effects">
              {data.flatMap((event) => effectsOf(event)).map((line, at) => <li key={at}>{line}
              </li>)}
            </ul>
            {data.every((event) => effectsOf(event).length === 0) && <p>Nothing.</p>}
            {truncated && <p class="note">There is more than the server shows at once.</p>}
            {!complete && <p class="note">What ended more than 30 days ago may be missing.</p>}
          </>
        )}
      </LoadingView>
    </>
  );
}

/** One line for each thing that an event has set off. */
function effectsOf(event: EventEffects) {
  const cause = event.depth === 0 ? null : <span class="quiet">after {event.event_type}:</span>;
  return [
    ...event.implied.map((implied) => (
      <>
        {cause} wrote <strong>{implied.event_type}</strong> to {linkTo(implied)}{" "}
        {implied.pending && <StatusChip state="pending" />}
      </>
    )),
    ...(event.scheduled ?? []).map((timer) => (
      <>
        {cause} scheduled <strong>{timer.event_type}</strong> for {linkTo(timer)},{" "}
        <TimeText at={timer.fire_at} /> <StatusChip state={timer.state} />
        {timer.cancelled_by && (
          <>{" "}by {timer.cancelled_by.event_type ?? timer.cancelled_by.reason}</>
        )}
      </>
    )),
    ...(event.sagas ?? []).map((saga) => (
      <>
        {cause} {saga.started ? "started" : "advanced"} the saga <strong>{saga.name}</strong>{" "}
        <StatusChip state={saga.state} />
        <ul>
          {saga.steps.map((step, at) => (
            <li key={at}>
              {step.step} <StatusChip state={step.outcome} /> {step.reason}{" "}
              {step.event && linkTo(step.event)}
            </li>
          ))}
        </ul>
      </>
    )),
    ...(event.deliveries ?? []).map((delivery) => (
      <>
        {cause} is delivered to <strong>{delivery.listener}</strong>{" "}
        <StatusChip state={delivery.state} />
      </>
    )),
  ];
}

function linkTo({ key, stream_id }: { readonly key: string; readonly stream_id?: string }) {
  return <a href={hrefOfStream(key, stream_id)}>{key}</a>;
}
