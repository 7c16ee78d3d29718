/** What a deploy of the draft would do, and the button that does it. */

import { useState } from "preact/hooks";
import type { Admin } from "@daybook/client/admin";
import { about } from "../shell/connection.ts";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { hrefOf } from "../shell/router.ts";
import { ChangeList } from "./change_list.tsx";
import { DataCheckView } from "./data_check_view.tsx";
import { DeployDialog } from "./deploy_dialog.tsx";
import type { Preview } from "./preview.ts";

export interface DeployPreviewProps {
  readonly admin: Admin;
  readonly preview: Preview;
  /** Whether the text has changed since. */
  readonly isStale: boolean;
  /** Previews the text as it is now; absent while it is none that can be deployed. */
  readonly onAgain: (() => void) | undefined;
  readonly onDeployed: (version: number) => void;
}

export function DeployPreview(props: DeployPreviewProps) {
  const { admin, preview, isStale, onAgain, onDeployed } = props;
  const [isAsking, setAsking] = useState(false);
  const { base, verdict } = preview;
  const environment = about.value?.environment ?? "this environment";
  const isAllowed = verdict === "accepted" ||
    (verdict === "incompatible" && environment !== "production");
  return (
    <section class="card" aria-label="Preview of the deploy">
      <h2>{base.version === 0 ? "The first deploy" : `Compared with version ${base.version}`}</h2>
      {isStale && (
        <div class="note warning row" role="status">
          <span>Out of date: the draft has changed since.</span>
          <button type="button" disabled={onAgain === undefined} onClick={onAgain}>
            Preview again
          </button>
        </div>
      )}
      <div class={isStale ? "stale" : undefined}>
        <Verdict preview={preview} environment={environment} />
        <Findings preview={preview} />
      </div>
      {isAllowed && (
        <button
          type="button"
          class="primary"
          disabled={isStale}
          onClick={() => setAsking(true)}
        >
          {`Deploy to ${environment}`}
        </button>
      )}
      <DeployDialog
        admin={admin}
        preview={preview}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onDeployed={(version) => {
          setAsking(false);
          onDeployed(version);
        }}
      />
    </section>
  );
}

/** What changes, what the stored data says, and which projections are rebuilt. */
function Findings({ preview: { diff, check, unchecked, rebuilt = [] } }: { preview: Preview }) {
  return (
    <>
      {diff !== undefined && diff.changes.length > 0 && <ChangeList diff={diff} />}
      {rebuilt.length > 0 && (
        <p>
          {rebuilt.length === 1 ? "A projection is rebuilt: " : "Projections are rebuilt: "}
          {rebuilt.map((name, at) => (
            <span key={name}>
              {at > 0 && ", "}
              <a href={hrefOf(["projections", "tables", name])}>{name}</a>
            </span>
          ))}. Until that is done, old rows are shown under the spec of before.
        </p>
      )}
      {check !== undefined && <DataCheckView check={check} />}
      {unchecked !== undefined && (
        <>
          <p>The stored data was not asked. Preview the deploy again in a moment.</p>
          <RefusalNote refusal={unchecked} />
        </>
      )}
    </>
  );
}

function Verdict({ preview, environment }: { preview: Preview; environment: string }) {
  const { base, verdict, violations, warnings } = preview;
  const warned = warnings.length === 0
    ? ""
    : ` It warns of ${warnings.length}: see the list above.`;
  switch (verdict) {
    case "same":
      return <p class="note">Nothing to deploy: this is version {base.version}.</p>;
    case "accepted":
      return (
        <p class="note good">
          The server would take it as version {base.version + 1}.{warned}
        </p>
      );
    case "invalid":
      return <p class="note danger">This is no valid spec: see the list above.</p>;
    case "incompatible":
      return (
        <div class="note danger">
          <p>
            <strong>It breaks what clients send today.</strong> {environment === "production"
              ? "Production takes no such spec."
              : `${environment} takes it only if it is forced.`}
          </p>
          <ul>
            {violations.map(({ path, message, hint }) => (
              <li key={path}>
                <code>{path}</code>: <bdi>{message}</bdi> <bdi class="quiet">{hint}</bdi>
              </li>
            ))}
          </ul>
        </div>
      );
  }
}
