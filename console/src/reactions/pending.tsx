/** Reactions that are still to be carried out; an operator may pause and resume them. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { DataTable } from "../parts/data_table.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { changedPlace, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

const KINDS = ["implied", "scheduled", "saga", "delivery"] as const;

export function Pending() {
  const admin = connection.value.admin!;
  const page = useLoaded((signal) => admin.reactions.pending({ limit: 100, signal }), [admin]);
  const [isAsked, setAsked] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();

  async function setPaused(isPaused: boolean): Promise<void> {
    setAsked(false);
    const answer = await (isPaused ? admin.reactions.pause() : admin.reactions.resume());
    setRefusal(answer.ok ? undefined : answer as Refusal);
    page.reload();
  }

  return (
    <>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      <LoadingView of={page}>
        {({ paused, paused_since, pending, data }) => (
          <>
            <div class="row">
              {paused
                ? <button type="button" onClick={() => setPaused(false)}>Resume</button>
                : <button type="button" onClick={() => setAsked(true)}>Pause</button>}
              <button type="button" onClick={page.reload}>Reload</button>
            </div>
            {paused && (
              <p class="note warning">
                Paused{paused_since !== undefined && (
                  <>
                    <TimeText at={paused_since} />
                  </>
                )}: writes are taken, and what they set off waits.
              </p>
            )}
            <DataTable
              caption="Waiting reactions by kind"
              keyOf={(kind) => kind}
              rows={KINDS}
              columns={[
                { title: "Kind", cell: (kind) => kind },
                {
                  title: "Waiting",
                  isNumber: true,
                  cell: (kind) =>
                    pending[kind].count.toLocaleString("en") + (pending[kind].is_more ? "+" : ""),
                },
                {
                  title: "Oldest",
                  cell: (kind) =>
                    pending[kind].oldest ? <TimeText at={pending[kind].oldest!} /> : null,
                },
              ]}
            />
            {data.length > 0 && (
              <DataTable
                caption="Waiting reactions"
                keyOf={(row) => JSON.stringify(row)}
                rows={data}
                columns={[
                  { title: "Kind", cell: ({ kind }) => kind },
                  { title: "Event", cell: ({ event_type }) => event_type },
                  { title: "Stream", cell: ({ key }) => <a href={hrefOfStream(key)}>{key}</a> },
                  { title: "Since", cell: ({ since }) => <TimeText at={since} /> },
                  { title: "Tries", isNumber: true, cell: ({ tries }) => tries },
                ]}
              />
            )}
          </>
        )}
      </LoadingView>
      <Dialog title="Pause reactions?" isOpen={isAsked} onClose={() => setAsked(false)}>
        <p>
          Implied events, timers, sagas and deliveries of <strong>{changedPlace.value}</strong>{" "}
          wait until they are resumed. Nothing is lost.
        </p>
        <div class="row">
          <button type="button" class="danger" onClick={() => setPaused(true)}>Pause</button>
          <button type="button" onClick={() => setAsked(false)}>Do not pause</button>
        </div>
      </Dialog>
    </>
  );
}
