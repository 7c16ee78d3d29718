/** Home: what is wrong first, then what happens, then what there is. */

import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";
import { TypeTable } from "../streams/type_table.tsx";
import { findTroubles } from "./find_troubles.ts";
import { LiveFeed } from "./live_feed.tsx";

export function HomePage() {
  const troubles = useLoaded(
    (signal) => findTroubles(connection.peek(), signal, Date.now()),
    [connection.value],
  );
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
      <TypeTable caption="Types" />
    </>
  );
}
