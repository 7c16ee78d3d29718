/** The API keys of an environment: issued, rotated, and revoked now or at a time. */

import { useState } from "preact/hooks";
import type { ApiKey, Environment, IssuedKey } from "@daybook/client/admin";
import { EmptyState } from "../parts/empty_state.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { EnvironmentChoice, shownEnvironment } from "./environments.tsx";
import { EndKey, type KeyAct } from "./end_key.tsx";
import { IssuedNote, NewKey } from "./new_key.tsx";

export function Keys() {
  const environment = shownEnvironment();
  // Another environment has other keys, and forgets the text of a new one.
  return <KeysOf key={environment} environment={environment} />;
}

function KeysOf({ environment }: { environment: Environment }) {
  const { admin, instanceId } = connection.value;
  const [changes, setChanges] = useState(0);
  const [issued, setIssued] = useState<IssuedKey>();
  const [ending, setEnding] = useState<{ readonly act: KeyAct; readonly of: ApiKey }>();

  function show(key: IssuedKey | undefined): void {
    if (key !== undefined) setIssued(key);
    setChanges((count) => count + 1);
  }

  return (
    <section aria-label="API keys">
      <EnvironmentChoice />
      <NewKey environment={environment} onIssued={show} />
      {issued !== undefined && <IssuedNote issued={issued} onForget={() => setIssued(undefined)} />}
      <PagedTable<ApiKey>
        caption={`API keys of ${environment}`}
        keyOf={({ id }) => id}
        load={(start, signal) => admin!.keys.listPage({ environment, start, signal })}
        isSteady
        reasons={[admin, changes]}
        columns={[
          { title: "Name", cell: ({ name }) => <bdi>{name}</bdi> },
          { title: "May", cell: ({ scope }) => (scope === "write" ? "read and write" : "read") },
          { title: "Created", cell: ({ created_at }) => <TimeText at={created_at} /> },
          {
            title: "Ends",
            cell: ({ revoke_at }) =>
              revoke_at === undefined ? "" : (
                <>
                  <StatusChip state="ends" tone="warning" /> <TimeText at={revoke_at} />
                </>
              ),
          },
          {
            title: "Actions",
            cell: (key) => <KeyButtons of={key} onAct={(act) => setEnding({ act, of: key })} />,
          },
        ]}
        empty={
          <EmptyState
            title={`No API keys in ${environment}`}
            command={`curl -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" ` +
              `-d '{"name": "ci", "scope": "write", "environment": "${environment}"}' ` +
              `${location.origin}/api/instances/${instanceId}/keys`}
          >
            Programs read and write with a key. Create one above, or from the shell.
          </EmptyState>
        }
      />
      {ending !== undefined && (
        <EndKey
          {...ending}
          onDone={show}
          onClose={() => setEnding(undefined)}
        />
      )}
    </section>
  );
}

const ACTS: readonly (readonly [act: KeyAct, title: string])[] = [
  ["rotate", "Rotate"],
  ["schedule", "End later"],
  ["revoke", "Revoke"],
];

function KeyButtons({ of, onAct }: { of: ApiKey; onAct: (act: KeyAct) => void }) {
  return (
    <div class="actions">
      {ACTS.map(([act, title]) => (
        <button
          key={act}
          type="button"
          class="small"
          aria-label={`${title} ${of.name}`}
          onClick={() => onAct(act)}
        >
          {title}
        </button>
      ))}
    </div>
  );
}
