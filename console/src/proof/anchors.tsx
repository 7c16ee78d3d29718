/** The anchors of the environment, newest first, and making one now. */

import { useState } from "preact/hooks";
import type { Anchor } from "@daybook/client";
import { CopyButton } from "../parts/copy_button.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useMakeAnchor } from "./use_make_anchor.ts";

export function Anchors() {
  const { db } = connection.value;
  const [version, setVersion] = useState(0);
  const { make, isMaking, refusal } = useMakeAnchor(() => setVersion(version + 1));

  return (
    <section aria-label="Anchors">
      <div class="row">
        <h2>Anchors</h2>
        {make !== undefined && (
          <button type="button" disabled={isMaking} onClick={make}>Make one now</button>
        )}
      </div>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      <PagedTable<Anchor>
        caption="Anchors"
        keyOf={({ id }) => id}
        load={(start, signal) => db.$audit.anchorsPage({ start, limit: 50, signal })}
        reasons={[db, version]}
        empty={
          <EmptyState title="No anchor yet">
            The server makes one from time to time once something is stored; an operator can make
            one now.
          </EmptyState>
        }
        columns={[
          { title: "Made", cell: ({ created_at }) => <TimeText at={created_at} /> },
          { title: "Events", isNumber: true, cell: (row) => row.event_count.toLocaleString("en") },
          {
            title: "Streams",
            isNumber: true,
            cell: (row) => row.stream_count.toLocaleString("en"),
          },
          { title: "Root", cell: ({ merkle_root }) => <code>{merkle_root.slice(0, 16)}…</code> },
          {
            title: "Copy",
            cell: (anchor) => (
              <CopyButton text={() => JSON.stringify(anchor, null, 2)} label="Copy as JSON" />
            ),
          },
        ]}
      />
    </section>
  );
}
