/** Imports of past events: their progress, and a new one from a file. */

import { useRef, useState } from "preact/hooks";
import type { Environment, Import } from "@daybook/client/admin";
import { EmptyState } from "../parts/empty_state.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { useLookAgain } from "../shell/look_again.ts";
import { EnvironmentChoice, shownEnvironment } from "./environments.tsx";
import { NewImport } from "./new_import.tsx";
import { number } from "./usage_meter.tsx";

/** How long after an answer the next look is, while events come and while none do. */
const MOVING_MS = 2_000;
const STILL_MS = 60_000;
/** An import of which nothing has come for so long waits for its file to be sent again. */
const STALLED_MS = 60_000;

export function Imports() {
  const environment = shownEnvironment();
  return <ImportsOf key={environment} environment={environment} />;
}

function ImportsOf({ environment }: { environment: Environment }) {
  const { admin, instanceId } = connection.value;
  const [changes, setChanges] = useState(0);
  return (
    <section aria-label="Imports">
      <EnvironmentChoice />
      <NewImport environment={environment} onChange={() => setChanges((count) => count + 1)} />
      <PagedTable<Import>
        caption={`Imports into ${environment}`}
        keyOf={({ import_id }) => import_id}
        load={(start, signal) => admin!.imports.listPage({ environment, start, signal })}
        isSteady
        reasons={[admin, changes]}
        columns={[
          { title: "Import", cell: ({ import_id }) => <code class="wrap">{import_id}</code> },
          {
            title: "Progress",
            cell: (one) => <Progress one={one} environment={environment} />,
          },
          { title: "Begun", cell: ({ started_at }) => <TimeText at={started_at} /> },
        ]}
        empty={
          <EmptyState
            title={`No imports into ${environment}`}
            command={`curl -X POST -T events.jsonl -H "Authorization: Bearer $TOKEN" ` +
              `-H "Content-Type: application/x-ndjson" '${location.origin}/_admin/import_jsonl` +
              `?environment=${environment}&instance_id=${instanceId}&import_id=orders'`}
          >
            An import writes events of the past with their own times, one on each line of a file.
          </EmptyState>
        }
      />
    </section>
  );
}

/** Looks again as long as the import is running. */
function Progress({ one, environment }: { one: Import; environment: Environment }) {
  const { admin } = connection.value;
  const shown = useRef<Import | undefined>(undefined);
  const newest = useLoaded(
    async (signal) => {
      if (shown.current === one) {
        return await admin!.imports.get(one.import_id, { environment, signal });
      }
      shown.current = one;
      return { ok: true as const, import: one };
    },
    [one],
  );
  const { value, refusal } = newest.now.value;
  const { state, written, lines, bytes, updated_at } = value?.import ?? one;
  const isRunning = state === "running";
  const isStalled = isRunning && Date.now() - Date.parse(updated_at) > STALLED_MS;
  const isMoving = isRunning && !isStalled && refusal === undefined;
  useLookAgain(newest, isMoving ? MOVING_MS : isRunning ? STILL_MS : undefined);
  return (
    <>
      <StatusChip state={isStalled ? "waiting" : state} /> {number(written)} events of{" "}
      {number(lines)} lines, {number(bytes)} bytes, last <TimeText at={updated_at} />
      {isStalled && <>. Send the same file under the same name, and it goes on.</>}
    </>
  );
}
