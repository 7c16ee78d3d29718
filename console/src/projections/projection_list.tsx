/** The projections of the environment with their states, and how far they are built. */

import { useEffect } from "preact/hooks";
import type { Projection } from "@daybook/client/admin";
import { DataTable } from "../parts/data_table.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { Field } from "../parts/field.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { goTo, hrefOf } from "../shell/router.ts";

/** As many as an environment may have. */
const PROJECTIONS_MAX = 100;
/** The list is asked for again: soon while something moves, else because something may break. */
const MOVING_RELOAD_MS = 1_000;
const RELOAD_MS = 5_000;
/** The server counts no further. */
const COUNTED_MAX = 1_000;

export function ProjectionList() {
  return connection.value.admin === undefined ? <OpenByName /> : <List />;
}

function List() {
  const admin = connection.value.admin!;
  const page = useLoaded(
    (signal) => admin.projections.listPage({ limit: PROJECTIONS_MAX, signal }),
    [admin],
  );
  const { value, isLoading } = page.now.value;
  const isMoving = value?.data.some(({ building, lag }) => building !== undefined || lag > 0);
  useEffect(() => {
    if (isLoading) return;
    const timer = setTimeout(page.reload, isMoving ? MOVING_RELOAD_MS : RELOAD_MS);
    return () => clearTimeout(timer);
  }, [isMoving, isLoading]);
  return (
    <LoadingView of={page}>
      {({ data }) =>
        data.length === 0 ? <NoProjections /> : (
          <>
            <DataTable
              caption="Projections"
              keyOf={({ name }) => name}
              rows={data}
              columns={[
                {
                  title: "Table",
                  cell: ({ name }) => <a href={hrefOf(["projections", "tables", name])}>{name}</a>,
                },
                { title: "For each", cell: ({ projection }) => String(projection.for_each) },
                { title: "State", cell: (row) => <State of={row} /> },
                { title: "Behind", cell: ({ lag }) => behind(lag) },
                {
                  title: "Failed rows",
                  isNumber: true,
                  cell: ({ failed_rows }) => counted(failed_rows),
                },
                { title: "Columns", isNumber: true, cell: ({ columns }) => columns.length },
                { title: "Deployed", cell: ({ deployed_at }) => <TimeText at={deployed_at} /> },
              ]}
            />
            <button type="button" onClick={page.reload}>Reload</button>
          </>
        )}
    </LoadingView>
  );
}

function State({ of: { state, building, last_error } }: { of: Projection }) {
  return (
    <>
      <StatusChip state={state} />
      {building !== undefined && (
        <div class="quiet">
          version {building.version}: {building.rows.toLocaleString("en")} rows since{" "}
          <TimeText at={building.started_at} />
        </div>
      )}
      {last_error !== null && last_error !== undefined && (
        <JsonView value={last_error} openLevels={0} />
      )}
    </>
  );
}

function behind(lag: number): string {
  return lag === 0 ? "current" : `${counted(lag)} ${lag === 1 ? "commit" : "commits"}`;
}

function counted(count: number): string {
  return count.toLocaleString("en") + (count >= COUNTED_MAX ? "+" : "");
}

/** Only operators may list projections; a key reads those whose names are known. */
function OpenByName() {
  function open(event: SubmitEvent): void {
    event.preventDefault();
    const name = new FormData(event.currentTarget as HTMLFormElement).get("name");
    goTo(["projections", "tables", String(name).trim()]);
  }

  return (
    <form class="row" onSubmit={open}>
      <Field
        label="Projection"
        name="name"
        hint="A key may read each projection by its name. Operators see the list."
        required
      />
      <button type="submit" class="primary">Open</button>
    </form>
  );
}

const EXAMPLE = '{"name": "order_totals", "for_each": "order", "sources": {"order": "$key"}, ' +
  '"select": {"total": "$.order.total"}}';

function NoProjections() {
  const { instanceId } = connection.value;
  const command = 'curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" ' +
    `-d '{"projection": ${EXAMPLE}}' ${location.origin}/api/instances/${instanceId}/projections`;
  return (
    <EmptyState title="No projections yet" command={command}>
      A projection is a table with a row for each aggregate of a type. It is kept up to date, and
      can be read with SQL.
    </EmptyState>
  );
}
