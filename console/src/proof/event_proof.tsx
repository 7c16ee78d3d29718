/** The bundle of one event: fetched, verified in the page by the pinned keys, kept as a file. */

import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { saveFile } from "../parts/save_file.ts";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { pinnedKeys } from "../shell/pinned_keys.ts";
import type { PinScope } from "../shell/pins.ts";
import { callsOf } from "../shell/settled.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { type EventChoice, streamMeant } from "./event_choice.ts";
import { judge } from "./evidence.ts";
import { useMakeAnchor } from "./use_make_anchor.ts";
import { Verdict } from "./verdict.tsx";

export interface EventProofProps {
  readonly choice: EventChoice;
  readonly scope: PinScope;
}

export function EventProof({ choice, scope }: EventProofProps) {
  const { db } = connection.value;
  const { type, id, index } = choice;
  const bundle = useLoaded((signal) => callsOf(db, type)(id).attestation(index, { signal }), [db]);
  return (
    <section class="card" aria-label="Proof">
      {bundle.now.value.refusal !== undefined && <MakeAnchor onMade={bundle.reload} />}
      <LoadingView of={bundle}>
        {(value) => <BundleView bundle={value} choice={choice} scope={scope} />}
      </LoadingView>
    </section>
  );
}

/** An event is proven by an anchor that was made after it. */
function MakeAnchor({ onMade }: { onMade: () => void }) {
  const { make, isMaking, refusal } = useMakeAnchor(onMade);
  if (make === undefined) return null;
  return (
    <>
      <button type="button" class="primary" disabled={isMaking} onClick={make}>
        Make an anchor now, and prove it
      </button>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
    </>
  );
}

function BundleView({ bundle, choice, scope }: EventProofProps & { bundle: object }) {
  const { index } = choice;
  const found = (bundle as { stream?: { key?: unknown } }).stream?.key;
  const stream = streamMeant(choice, found);
  const publicKey = pinnedKeys(scope).map(({ public_key }) => public_key);

  function save(): void {
    const content = new Blob([JSON.stringify(bundle, null, 2)], { type: "application/json" });
    saveFile(`${stream.replaceAll(":", "_")}_${index}.json`, content);
  }

  return (
    <>
      <h2>
        Event {index} of <a href={hrefOfStream(stream, String(index))}>{stream}</a>
      </h2>
      {stream !== `${choice.type}:${choice.id}` && (
        <p class="quiet">
          The id is stored in this form. You wrote <bdi>{choice.type}:{choice.id}</bdi>.
        </p>
      )}
      {publicKey.length === 0
        ? <p class="note warning">Pin the signing key first: see above.</p>
        : <Verdict judged={judge(bundle, { publicKey, ...scope, stream, index })} />}
      <button type="button" onClick={save}>Download the bundle</button>
      <p class="quiet">
        Give it to an auditor with{" "}
        <a href="verify.html" download>verify.html</a>, which checks it without a server, and tell
        them the public key by another way.
      </p>
    </>
  );
}
