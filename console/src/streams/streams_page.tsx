/** `#/streams`: the types; `/{type}`: its streams; `/{type}/{id}`: one stream. */

import { place } from "../shell/router.ts";
import { StreamList } from "./stream_list.tsx";
import { StreamView } from "./stream_view.tsx";
import { TypeTable } from "./type_table.tsx";

export function StreamsPage() {
  const [, type, id] = place.value.path;
  if (type === undefined) return <Types />;
  if (id === undefined) return <StreamList key={type} type={type} />;
  return <StreamView key={`${type}:${id}`} type={type} id={id} />;
}

function Types() {
  return (
    <>
      <h1>Streams</h1>
      <p class="quiet">
        A stream holds the events of one thing, in their order. Its type says what kind of thing it
        is.
      </p>
      <TypeTable caption="Types of streams" />
    </>
  );
}
