/** The bundle of one event: fetched, verified in the page by the pinned key, kept as a file. */

import { verifyBundle } from "@daybook/client/verify";
import { LoadingView } from "../parts/loading_view.tsx";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { pinnedKey } from "../shell/pinned_key.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { Verdict } from "./verdict.tsx";

export interface EventProofProps {
  readonly type: string;
  readonly id: string;
  readonly index: number;
}

export function EventProof({ type, id, index }: EventProofProps) {
  const { db } = connection.value;
  const bundle = useLoaded((signal) => db[type]!(id).attestation(index, { signal }), [db]);
  const publicKey = pinnedKey();
  // All environments of an instance sign with the same key, so the one that is meant must be named.
  const { environment } = about.value!;
  const { instanceId } = connection.value;
  const meant = { environment, instanceId, stream: `${type}:${id}`, index };
  return (
    <section class="card" aria-label="Proof">
      <h2>
        Event {index} of <a href={hrefOfStream(`${type}:${id}`, String(index))}>{type}:{id}</a>
      </h2>
      <LoadingView of={bundle}>
        {(value) => (
          <>
            {publicKey === undefined
              ? <p class="note warning">Pin the signing key first: see above.</p>
              : (
                <Verdict
                  verdict={verifyBundle(value, { publicKey, ...meant })}
                />
              )}
            <a
              class="button"
              download={`${type}_${id}_${index}.json`}
              href={`data:application/json,${encodeURIComponent(JSON.stringify(value, null, 2))}`}
            >
              Download the bundle
            </a>
          </>
        )}
      </LoadingView>
    </section>
  );
}
