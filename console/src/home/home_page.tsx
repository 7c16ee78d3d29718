/** Home: the types of the environment with their counts. */

import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";

export function HomePage() {
  const { db } = connection.value;
  const types = useLoaded((signal) => db.$types.listPage({ limit: 500, signal }), [db]);
  return (
    <>
      <h1>Home</h1>
      <LoadingView of={types}>
        {({ data }) =>
          data.length === 0
            ? (
              <EmptyState
                title="No events yet"
                command="deno task daybook write order:main was_placed '{}'"
              >
                Events that are written to this environment appear here.
              </EmptyState>
            )
            : (
              <DataTable
                caption="Types"
                keyOf={({ type }) => type}
                rows={data}
                columns={[
                  {
                    title: "Type",
                    cell: ({ type }) => <a href={hrefOf(["streams", type])}>{type}</a>,
                  },
                  {
                    title: "Streams",
                    isNumber: true,
                    cell: ({ aggregates }) => aggregates.toLocaleString("en"),
                  },
                  {
                    title: "Events",
                    isNumber: true,
                    cell: ({ events }) => events.toLocaleString("en"),
                  },
                ]}
              />
            )}
      </LoadingView>
    </>
  );
}
