/** `#/streams`: the types; `/{type}`: its streams; `/{type}/{id}`: one stream. */

import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place } from "../shell/router.ts";
import { StreamList } from "./stream_list.tsx";
import { StreamView } from "./stream_view.tsx";

export function StreamsPage() {
  const [, type, id] = place.value.path;
  if (type === undefined) return <Types />;
  if (id === undefined) return <StreamList key={type} type={type} />;
  return <StreamView key={`${type}:${id}`} type={type} id={id} />;
}

function Types() {
  const { db } = connection.value;
  const types = useLoaded((signal) => db.$types.listPage({ signal }), [db]);
  return (
    <>
      <h1>Streams</h1>
      <p class="quiet">
        A stream holds the events of one thing, in their order. Its type says what kind of thing it
        is.
      </p>
      <LoadingView of={types}>
        {({ data }) =>
          data.length === 0 ? <NoEvents /> : (
            <DataTable
              caption="Types of streams"
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
      Whatever is written to this environment appears here.
    </EmptyState>
  );
}
