/** Home: what is wrong first, then what happens, then what there is. */

import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";
import { findTroubles } from "./find_troubles.ts";
import { LiveFeed } from "./live_feed.tsx";

export function HomePage() {
  const { db } = connection.value;
  const troubles = useLoaded(
    (signal) => findTroubles(connection.peek(), signal, Date.now()),
    [connection.value],
  );
  const types = useLoaded((signal) => db.$types.listPage({ signal }), [db]);
  return (
    <>
      <h1>Home</h1>
      <section aria-label="What is wrong">
        <LoadingView of={troubles}>
          {({ found }) =>
            found.length === 0 ? <p class="note good">Nothing is wrong.</p> : (
              <ul class="troubles">
                {found.map(({ says, path, query }) => (
                  <li key={says} class="note danger">
                    {says} <a href={hrefOf(path, query)}>Look at it</a>
                  </li>
                ))}
              </ul>
            )}
        </LoadingView>
      </section>
      <LiveFeed />
      <h2>Types</h2>
      <LoadingView of={types}>
        {({ data }) =>
          data.length === 0 ? <NoEvents /> : (
            <DataTable
              caption="Types"
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
    </>
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
