/** Events that will be written later, and cancelling one. */

import { useState } from "preact/hooks";
import type { Refusal, Scheduled } from "@daybook/client";
import { Dialog } from "../parts/dialog.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useOwnWriter } from "../shell/own_writer.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { WriterNote } from "./writer_note.tsx";

/** A scheduled event as the server lists it. */
interface Timer extends Scheduled {
  readonly fire_at: string;
  readonly key: string;
  readonly event_type: string;
  readonly scheduled_by?: {
    readonly key: string;
    readonly event_type: string;
    readonly stream_id: string;
  };
}

export function Timers() {
  const { db } = connection.value;
  const own = useOwnWriter();
  const { writer } = own;
  const [version, setVersion] = useState(0);
  const [asked, setAsked] = useState<Timer>();
  const [refusal, setRefusal] = useState<Refusal>();

  async function cancel(timer: Timer): Promise<void> {
    setAsked(undefined);
    if (writer === undefined) return;
    const answer = await writer.$scheduled.cancel(timer.scheduled_id);
    setRefusal(answer.ok ? undefined : answer as Refusal);
    setVersion(version + 1);
  }

  return (
    <>
      <WriterNote of={own} act="Cancelling" />
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      <PagedTable<Timer>
        caption="Scheduled events"
        keyOf={({ scheduled_id }) => scheduled_id}
        load={async (start, signal) => {
          const page = await db.$scheduled.listPage({ start, limit: 200, signal });
          return page.ok ? { ...page, data: (page.data as Timer[]).toSorted(byTime) } : page;
        }}
        reasons={[db, version]}
        empty={<NoTimers />}
        columns={[
          { title: "When", cell: ({ fire_at }) => <TimeText at={fire_at} isLong /> },
          { title: "Event", cell: ({ event_type }) => <strong>{event_type}</strong> },
          { title: "Stream", cell: ({ key }) => <a href={hrefOfStream(key)}>{key}</a> },
          {
            title: "Scheduled by",
            cell: ({ scheduled_by: by }) =>
              by && <a href={hrefOfStream(by.key, by.stream_id)}>{by.event_type}</a>,
          },
          {
            title: "Action",
            cell: (timer) =>
              writer && (
                <button type="button" class="small" onClick={() => setAsked(timer)}>Cancel</button>
              ),
          },
        ]}
      />
      <Dialog
        title="Cancel this event?"
        isOpen={asked !== undefined && writer !== undefined}
        onClose={() => setAsked(undefined)}
      >
        <p>
          <strong>{asked?.event_type}</strong> will never be written to <code>{asked?.key}</code>.
        </p>
        <div class="row">
          <button type="button" class="danger" onClick={() => cancel(asked!)}>
            Cancel the event
          </button>
          <button type="button" onClick={() => setAsked(undefined)}>Keep it</button>
        </div>
      </Dialog>
    </>
  );
}

function byTime(a: Timer, b: Timer): number {
  return Date.parse(a.fire_at) - Date.parse(b.fire_at);
}

function NoTimers() {
  return (
    <EmptyState title="Nothing is scheduled">
      An event type schedules events with <code>schedule</code> among its implications.
    </EmptyState>
  );
}
