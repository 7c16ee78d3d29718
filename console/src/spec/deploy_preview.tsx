/** What a deploy of the draft would do, and the button that does it. */

import { useState } from "preact/hooks";
import type { Admin } from "@daybook/client/admin";
import { about } from "../shell/connection.ts";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { ChangeList } from "./change_list.tsx";
import { DataCheckView } from "./data_check_view.tsx";
import { DeployDialog } from "./deploy_dialog.tsx";
import type { Preview } from "./preview.ts";

export interface DeployPreviewProps {
  readonly admin: Admin;
  readonly preview: Preview;
  /** Whether the text has changed since. */
  readonly isStale: boolean;
  readonly onDeployed: (version: number) => void;
}

export function DeployPreview({ admin, preview, isStale, onDeployed }: DeployPreviewProps) {
  const [isAsking, setAsking] = useState(false);
  const { base, verdict, diff, check, unchecked } = preview;
  const environment = about.value?.environment ?? "this environment";
  const isAllowed = verdict === "accepted" ||
    (verdict === "incompatible" && environment !== "production");
  return (
    <section class="card" aria-label="Preview of the deploy">
      <h2>{base.version === 0 ? "The first deploy" : `Compared with version ${base.version}`}</h2>
      <Verdict preview={preview} environment={environment} />
      {isStale && <p class="note warning">The text has changed since. Preview it again.</p>}
      {diff !== undefined && diff.changes.length > 0 && <ChangeList diff={diff} />}
      {check !== undefined && <DataCheckView check={check} />}
      {unchecked !== undefined && (
        <>
          <p>The stored data was not asked. Preview the deploy again in a moment.</p>
          <RefusalNote refusal={unchecked} />
        </>
      )}
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
