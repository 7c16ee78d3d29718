/** The types of streams in this environment, with how many streams and events each has. */

import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";

export function TypeTable({ caption }: { readonly caption: string }) {
  const { db } = connection.value;
  const types = useLoaded((signal) => db.$types.listPage({ signal }), [db]);
  return (
    <LoadingView of={types}>
      {({ data }) =>
        data.length === 0 ? <NoEvents /> : (
          <DataTable
            caption={caption}
            keyOf={({ type }) => type}
            rows={data}
            columns={[
              {
                title: "Type",
                cell: ({ type }) => <a href={hrefOf(["streams", type])}>{type}</a>,
              },
              { title: "Streams", isNumber: true, cell: (row) => number(row.aggregates) },
              { title: "Events", isNumber: true, cell: (row) => number(row.events) },
            ]}
          />
        )}
    </LoadingView>
  );
}

function number(count: number): string {
  return count.toLocaleString("en");
}

function NoEvents() {
  return (
    <EmptyState
      title="No events yet"
      command="deno task daybook write order:7KD2M9QXA was_placed --data '{}'"
    >
      Events that are written to this environment appear here.
    </EmptyState>
  );
}
