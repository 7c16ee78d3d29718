/** The current spec as a tree, and all versions that were deployed. */

import type { Admin, SpecVersion } from "@daybook/client/admin";
import { CopyButton } from "../parts/copy_button.tsx";
import type { Column } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { saveFile } from "../parts/save_file.ts";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";

const VERSIONS_LISTED = 100;

export function SpecVersions() {
  const admin = connection.value.admin!;
  const environment = about.value?.environment;
  const current = useLoaded((signal) => admin.specs.current({ signal }), [admin]);
  const { value, refusal } = current.now.value;
  if (refusal?.error_type === "not_found") return <NoSpec />;
  if (refusal !== undefined) return <RefusalNote refusal={refusal} onRetry={current.reload} />;
  if (value === undefined) return <p class="quiet" role="status">Loading</p>;
  const name = `spec_${environment}_${value.version}.json`;
  const text = () => `${JSON.stringify(value.spec, null, 2)}\n`;
  return (
    <>
      <section aria-label="Current spec">
        <h2>Version {value.version}, the current one</h2>
        <p>
          Deployed <TimeText at={value.created_at} />, hash <Hash text={value.spec_hash} />
        </p>
        <div class="row">
          <CopyButton label="Copy as JSON" text={text} />
          <button
            type="button"
            class="small"
            onClick={() => saveFile(name, new Blob([text()], { type: "application/json" }))}
          >
            Download
          </button>
        </div>
        <JsonView value={value.spec} openLevels={2} />
      </section>
      <AllVersions admin={admin} current={value.version} />
    </>
  );
}

export function NoSpec() {
  return (
    <EmptyState title="No spec yet" command="deno task daybook deploy spec.json">
      A spec says which types of streams and events there are. Nothing can be written before the
      first one is deployed.
    </EmptyState>
  );
}

function AllVersions({ admin, current }: { admin: Admin; current: number }) {
  const columns: readonly Column<SpecVersion>[] = [
    { title: "Version", cell: ({ version }) => String(version), isNumber: true },
    { title: "Deployed", cell: ({ created_at }) => <TimeText at={created_at} /> },
    { title: "At", cell: ({ created_at }) => <code>{created_at}</code> },
    { title: "Hash", cell: ({ spec_hash }) => <Hash text={spec_hash} /> },
    {
      title: "State",
      cell: ({ version }) =>
        version === current ? <StatusChip state="current" tone="good" /> : "replaced",
    },
  ];
  return (
    <section aria-label="Versions">
      <h2>All versions, the oldest first</h2>
      <p class="quiet">
        The server tells when a version was deployed, but not by whom, and sends the text of the
        current version only.
      </p>
      <PagedTable<SpecVersion>
        caption="Versions of the spec"
        columns={columns}
        keyOf={({ version }) => String(version)}
        load={(start, signal) => admin.specs.listPage({ start, limit: VERSIONS_LISTED, signal })}
        reasons={[admin, current]}
        empty={<p class="quiet">None</p>}
      />
    </section>
  );
}

/** So much of a hash tells two apart; the rest stands behind it. */
function Hash({ text }: { text: string }) {
  return <code title={text}>{text.slice(0, 12)}</code>;
}
