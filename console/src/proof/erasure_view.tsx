/** One request of erasure: what it says, cancelling it, and its receipt, verified in the page. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { Tombstone } from "@daybook/client/admin";
import { Dialog } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { saveFile } from "../parts/save_file.ts";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { pinnedKeys } from "../shell/pinned_keys.ts";
import type { PinScope } from "../shell/pins.ts";
import { hrefOf } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { judge } from "./evidence.ts";
import { Trusted } from "./trusted.tsx";
import { Verdict } from "./verdict.tsx";

const STATE_MEANS: Readonly<Record<Tombstone["state"], string>> = {
  pending: "Nothing has happened yet. Until it begins, the request can be cancelled.",
  running: "The events are being replaced by markers, and their copies removed.",
  completed: "The last copy is gone.",
  cancelled: "The request was cancelled, so nothing was erased by it.",
};

export function ErasureView({ id }: { id: string }) {
  const admin = connection.value.admin!;
  const request = useLoaded((signal) => admin.erasures.get(id, { signal }), [admin, id]);
  return (
    <>
      <p>
        <a href={hrefOf(["proof", "erasures"])}>All erasures</a>
      </p>
      <LoadingView of={request}>
        {({ tombstone }) => (
          <>
            <Request tombstone={tombstone} onChange={request.reload} />
            {tombstone.receipt !== undefined && (
              <Trusted>
                {(scope) => <Receipt id={id} tombstone={tombstone} scope={scope} />}
              </Trusted>
            )}
          </>
        )}
      </LoadingView>
    </>
  );
}

interface RequestProps {
  readonly tombstone: Tombstone;
  readonly onChange: () => void;
}

function Request({ tombstone, onChange }: RequestProps) {
  const { id, key, state, execute_at, receipt: _, ...rest } = tombstone;
  return (
    <section class="card" aria-label="Request">
      <h2>
        Erasure of <a href={hrefOfStream(key)}>{key}</a>
      </h2>
      <p>
        <StatusChip state={state} /> {STATE_MEANS[state]}
        {state === "pending" && (
          <>
            {" "}It begins <TimeText at={execute_at} />.
          </>
        )}
      </p>
      <JsonView value={{ id, key, state, execute_at, ...rest }} />
      <div class="row">
        {state === "pending" && <Cancel tombstone={tombstone} onChange={onChange} />}
        {(state === "pending" || state === "running") && (
          <button type="button" onClick={onChange}>Look again</button>
        )}
      </div>
    </section>
  );
}

function Cancel({ tombstone: { id, key }, onChange }: RequestProps) {
  const { admin } = connection.value;
  const [isAsked, setAsked] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();

  async function cancel(): Promise<void> {
    setAsked(false);
    const answer = await admin!.erasures.cancel(id);
    setRefusal(answer.ok ? undefined : answer as Refusal);
    if (answer.ok) onChange();
  }

  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>Cancel the request</button>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      <Dialog title="Cancel this erasure?" isOpen={isAsked} onClose={() => setAsked(false)}>
        <p>
          The events of <code class="wrap">{key}</code> stay as they are.
        </p>
        <div class="row">
          <button type="button" class="danger" onClick={cancel}>Cancel the erasure</button>
          <button type="button" onClick={() => setAsked(false)}>Go on with it</button>
        </div>
      </Dialog>
    </>
  );
}

interface ReceiptProps {
  /** The request that was asked for. */
  readonly id: string;
  readonly tombstone: Tombstone;
  readonly scope: PinScope;
}

function Receipt({ id, tombstone, scope }: ReceiptProps) {
  const receipt = tombstone.receipt!;
  const publicKey = pinnedKeys(scope).map(({ public_key }) => public_key);

  function save(): void {
    const content = new Blob([JSON.stringify(receipt, null, 2)], { type: "application/json" });
    saveFile(`${id}.json`, content);
  }

  return (
    <section class="card" aria-label="Receipt">
      <h2>Receipt</h2>
      {receipt.tombstone_id !== id && (
        <p class="note danger" role="alert">
          This is the receipt of another request, so it says nothing about this one.
        </p>
      )}
      {publicKey.length === 0
        ? <p class="note warning">Pin the signing key first: see above.</p>
        : (
          <Verdict
            judged={judge({ tombstone }, { publicKey, ...scope, stream: tombstone.key })}
          />
        )}
      <button type="button" onClick={save}>Download the receipt</button>
    </section>
  );
}
