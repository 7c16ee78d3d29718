/** Records of what failed inside the service, newest first. */

import type { ErrorRecord } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";

export function Errors() {
  const { db } = connection.value;
  return (
    <PagedTable<ErrorRecord>
      caption="Errors"
      keyOf={({ error_id }) => error_id}
      load={(start, signal) => db.$errors.listPage({ start, limit: 50, signal })}
      reasons={[db]}
      empty={
        <EmptyState title="No errors">
          Answers with a status from 500 on, and reactions that failed, leave a record here.
        </EmptyState>
      }
      columns={[
        { title: "When", cell: ({ occurred_at }) => <TimeText at={occurred_at} /> },
        { title: "Kind", cell: ({ error_type }) => <code>{error_type}</code> },
        { title: "What", cell: ({ message }) => message },
        {
          title: "Context",
          cell: ({ context, error_id, request_id }) => (
            <JsonView value={{ ...context, error_id, request_id }} openLevels={0} />
          ),
        },
      ]}
    />
  );
}
