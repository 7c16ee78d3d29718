/** The edited handler, tried on the streams that have had the event last. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { DataTable } from "../parts/data_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { connection } from "../shell/connection.ts";
import { hrefOf } from "../shell/router.ts";
import { settled } from "../shell/settled.ts";
import { CHANGES_MAX } from "../shell/state_changes.ts";
import type { Handlers } from "../shell/stream_fold.ts";
import { editHandlers, type HandlerFault } from "./compare_folds.ts";
import { HandlerFaults } from "./handler_faults.tsx";
import type { RecentStreams } from "./recent_streams.ts";
import { EVENTS_OF_EACH, STREAMS_TRIED, type TriedRow, tryStreams } from "./try_streams.ts";

export interface ManyStreamsProps {
  readonly type: string;
  readonly event: string;
  /** The deployed ones. */
  readonly handlers: Handlers;
  /** The edited one, as text. */
  readonly text: string;
  readonly isChanged: boolean;
}

/** What is known of a trial so far. */
interface Tried {
  /** The text that is tried. */
  readonly of: string;
  readonly isRunning: boolean;
  readonly recent?: RecentStreams;
  readonly rows: readonly TriedRow[];
  readonly faults?: readonly HandlerFault[];
  readonly refusal?: Refusal;
}

export function ManyStreams(props: ManyStreamsProps) {
  const { type, event, text, isChanged } = props;
  const [tried, run] = useTrial(props);
  return (
    <section aria-label="Several streams">
      <button type="button" disabled={!isChanged || tried?.isRunning} onClick={run}>
        {`Try it on the last ${STREAMS_TRIED} streams`}
      </button>
      {tried?.faults !== undefined && <HandlerFaults faults={tried.faults} />}
      {tried?.refusal !== undefined && <RefusalNote refusal={tried.refusal} onRetry={run} />}
      {tried?.recent !== undefined && (
        <div class={tried.of === text ? "tried" : "tried quiet"}>
          <Summary {...{ type, event }} tried={tried} recent={tried.recent} />
          {tried.of !== text && (
            <p class="note warning">The handler has changed since. Try it again.</p>
          )}
          {tried.rows.length > 0 && <Rows {...{ type, event }} rows={tried.rows} />}
        </div>
      )}
    </section>
  );
}

function useTrial(
  { type, event, handlers, text }: ManyStreamsProps,
): readonly [Tried | undefined, () => void] {
  const [tried, setTried] = useState<Tried>();
  const ending = useRef(new AbortController());
  const { db } = connection.value;
  useEffect(() => () => ending.current.abort(), []);

  async function run(): Promise<void> {
    ending.current.abort();
    const { signal } = ending.current = new AbortController();
    const edited = editHandlers(handlers, event, text);
    const none: Tried = { of: text, isRunning: false, rows: [] };
    if (!edited.ok) return setTried({ ...none, faults: edited.faults });
    const trial = { type, event, deployed: handlers, edited: edited.handlers };
    let now: Tried = { ...none, isRunning: true };
    setTried(now);
    const tell = (news: RecentStreams | TriedRow | Refusal) => setTried(now = withNews(now, news));
    const failed = await settled(async () => {
      await tryStreams(db, trial, tell, signal);
      return { ok: true } as const;
    });
    if (signal.aborted) return;
    if (!failed.ok) tell(failed);
    setTried(now = { ...now, isRunning: false });
  }
  return [tried, () => void run()];
}

function withNews(tried: Tried, news: RecentStreams | TriedRow | Refusal): Tried {
  if ("ids" in news) return { ...tried, recent: news };
  if ("error_type" in news) return { ...tried, refusal: news };
  return { ...tried, rows: [...tried.rows, news] };
}

interface SummaryProps {
  readonly type: string;
  readonly event: string;
  readonly tried: Tried;
  readonly recent: RecentStreams;
}

function Summary({ type, event, tried: { rows, isRunning }, recent }: SummaryProps) {
  const { ids, events, isCut } = recent;
  const differ = rows.filter(({ firstDifference }) => firstDifference !== undefined).length;
  const isShort = rows.some(({ length, folded }) => folded < length);
  return (
    <>
      <p role="status" class="note">
        {ids.length === 0
          ? `No stream has an event ${type}.${event}.`
          : isRunning
          ? `${rows.length} of ${ids.length} streams are folded.`
          : `The states of ${differ} of ${rows.length} streams differ.`}
      </p>
      {isCut && (
        <p class="quiet">
          There are more than {events.toLocaleString("en")}{" "}
          such events: these are the last streams among the first of them.
        </p>
      )}
      {isShort && (
        <p class="quiet">
          Of longer streams the first {EVENTS_OF_EACH.toLocaleString("en")} events are folded.
        </p>
      )}
    </>
  );
}

interface RowsProps {
  readonly type: string;
  readonly event: string;
  readonly rows: readonly TriedRow[];
}

function Rows({ type, event, rows }: RowsProps) {
  return (
    <DataTable<TriedRow>
      caption="Streams that were tried"
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Stream",
          cell: ({ id, firstDifference: length }) => (
            <a class="mono" href={hrefOf(["workbench", type, event], { stream: id, length })}>
              {id}
            </a>
          ),
        },
        {
          title: "Events",
          isNumber: true,
          cell: ({ length }) => length.toLocaleString("en"),
        },
        { title: "States", cell: (row) => <Outcome {...row} /> },
      ]}
    />
  );
}

function Outcome({ firstDifference, fields }: TriedRow) {
  if (firstDifference === undefined) return <StatusChip state="same" tone="good" />;
  const count = `${fields >= CHANGES_MAX ? "at least " : ""}${fields}`;
  return (
    <>
      <StatusChip state="differ" tone="warning" /> since event {firstDifference - 1}, at the end in
      {" "}
      {count} {fields === 1 ? "field" : "fields"}
    </>
  );
}
