/** `#/proof/evidence`: verifies a bundle or receipt without asking the server. */

import { useState } from "preact/hooks";
import { DataTable } from "../parts/data_table.tsx";
import { ShortText } from "../parts/short_text.tsx";
import { about, connection } from "../shell/connection.ts";
import { pinnedKeys } from "../shell/pinned_keys.ts";
import type { Pin, PinScope } from "../shell/pins.ts";
import { type EvidenceDocument, judge, judgeForm, ownerNamed } from "./evidence.ts";
import { EvidenceInput } from "./evidence_input.tsx";
import { PinForm, PinnedAt, Unpin, WhatPinningIs } from "./pin_form.tsx";
import { Verdict } from "./verdict.tsx";

export function OwnEvidence() {
  const [document, setDocument] = useState<EvidenceDocument>();
  return (
    <>
      <section class="card" aria-label="Evidence that you have">
        <h2>Evidence that you have</h2>
        <p class="quiet">
          The bundle of an event, or the receipt of an erasure. It is verified in this page by the
          keys that are pinned here. Nothing of it is sent anywhere.
        </p>
        <EvidenceInput onEvidence={setDocument} />
      </section>
      {document !== undefined && <Judgement document={document} />}
      <section class="card" aria-label="Without a server">
        <h2>Without a server</h2>
        <p>
          An auditor who does not want to trust this page keeps{" "}
          <code>verify.html</code>: one file that does the same when it is opened from a disk, with
          no server and no network.
        </p>
        <a class="button" href="verify.html" download="verify.html">Download verify.html</a>
      </section>
    </>
  );
}

/** Only keys of the instance and environment that the evidence names may vouch for it. */
function Judgement({ document }: { document: EvidenceDocument }) {
  const formless = judgeForm(document);
  const owner = ownerNamed(document);
  return (
    <section class="card" aria-label="Verdict">
      <h2>Verdict</h2>
      {formless !== undefined && <Verdict judged={formless} />}
      {formless === undefined && owner === undefined && (
        <p class="note warning">
          The evidence is of format 1, which does not say whose it is, so no pinned key can vouch
          for it. <code>verify.html</code> verifies it with a key that you give it.
        </p>
      )}
      {formless === undefined && owner !== undefined && (
        <OfOwner document={document} owner={owner} />
      )}
    </section>
  );
}

/** The document says them, so they may have any length. */
const NAME_SHOWN = 64;

interface OfOwnerProps {
  readonly document: EvidenceDocument;
  readonly owner: PinScope;
}

function OfOwner({ document, owner }: OfOwnerProps) {
  const pins = pinnedKeys(owner);
  const publicKey = pins.map(({ public_key }) => public_key);
  const { instanceId } = connection.value;
  const isHere = owner.environment === about.value?.environment &&
    (instanceId ?? owner.instanceId) === owner.instanceId;
  return (
    <>
      <p>
        It says that it is of the instance{" "}
        <ShortText text={owner.instanceId} what="the instance" shown={NAME_SHOWN} />, environment
        {" "}
        <ShortText text={owner.environment} what="the environment" shown={NAME_SHOWN} />.
      </p>
      {!isHere && (
        <p class="note warning">
          That is not the instance and environment of this page.
        </p>
      )}
      {pins.length > 0
        ? <Verdict judged={judge(document, { publicKey, ...owner })} />
        : (
          <p class="note warning">
            No key of this instance and environment is pinned in this browser. Pin one that you have
            from elsewhere; the key inside the evidence proves nothing.
          </p>
        )}
      {pins.length === 0 && <WhatPinningIs />}
      <PinsOf scope={owner} pins={pins} />
    </>
  );
}

/** The page of another instance may be out of reach, so its pins can be changed here. */
function PinsOf({ scope, pins }: { scope: PinScope; pins: readonly Pin[] }) {
  return (
    <>
      {pins.length > 0 && (
        <DataTable<Pin>
          caption="Keys that are pinned for it"
          rows={pins}
          keyOf={({ public_key }) => public_key}
          columns={[
            {
              title: "Key",
              cell: ({ public_key }) => <ShortText text={public_key} what="the key" />,
            },
            {
              title: "Pinned",
              cell: ({ pinned_at, from }) => (
                <PinnedAt at={pinned_at} isFromServer={from === "server"} />
              ),
            },
            { title: "", cell: ({ public_key }) => <Unpin scope={scope} publicKey={public_key} /> },
          ]}
        />
      )}
      <PinForm scope={scope} />
    </>
  );
}
