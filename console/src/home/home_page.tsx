/** Home: what is wrong first, then what happens, then what there is. */

import { LoadingView } from "../parts/loading_view.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { useLookAgain } from "../shell/look_again.ts";
import { hrefOf } from "../shell/router.ts";
import { TypeTable } from "../streams/type_table.tsx";
import { findTroubles, type Unchecked } from "./find_troubles.ts";
import { LiveFeed } from "./live_feed.tsx";

const LOOK_AGAIN_MS = 30_000;

export function HomePage() {
  const troubles = useLoaded(
    (signal) => findTroubles(connection.peek(), signal, Date.now()),
    [connection.value],
  );
  useLookAgain(troubles, LOOK_AGAIN_MS);
  return (
    <>
      <h1>Home</h1>
      <section aria-label="What is wrong">
        <LoadingView of={troubles}>
          {({ found, unchecked }) => (
            <>
              {found.length > 0 && (
                <ul class="troubles">
                  {found.map(({ says, path, query }) => (
                    <li key={says} class="note danger">
                      {says} <a href={hrefOf(path, query)}>Look at it</a>
                    </li>
                  ))}
                </ul>
              )}
              {unchecked.length > 0 && <NotChecked unchecked={unchecked} />}
              {found.length + unchecked.length === 0 && <p class="note good">Nothing is wrong.</p>}
            </>
          )}
        </LoadingView>
      </section>
      <LiveFeed />
      <h2>Types</h2>
      <TypeTable caption="Types" />
    </>
  );
}

/** Whatever could not be looked at may be wrong. */
function NotChecked({ unchecked }: { unchecked: readonly Unchecked[] }) {
  return (
    <div class="note warning">
      <p>Not everything could be checked:</p>
      <ul>
        {unchecked.map(({ what, refusal }) => <li key={what}>{what}: {refusal.error}</li>)}
      </ul>
    </div>
  );
}
