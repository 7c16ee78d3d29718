/** Sagas by name and state, and the history of one. */

import type { Saga } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

const STATES = ["running", "completed", "compensating", "compensated", "failed"] as const;
type State = typeof STATES[number];
/** A saga as lists have it. */
type Summary = Pick<Saga, "saga_id" | "name" | "state" | "started_at" | "trigger">;

export function Sagas() {
  const { db } = connection.value;
  const { name, state } = place.value.query;
  return (
    <>
      <div class="row">
        <Field
          label="Name"
          type="search"
          value={name ?? ""}
          onInput={(value) => setQuery({ name: value.trim() || undefined })}
        />
        <Choice
          label="State"
          value={state ?? ""}
          options={[["", "every state"], ...STATES.map((one) => [one, one] as const)]}
          onChange={(value) => setQuery({ state: value || undefined })}
        />
      </div>
      <PagedTable<Summary>
        caption="Sagas"
        keyOf={({ saga_id }) => saga_id}
        load={(start, signal) =>
          db.$sagas.listPage({ start, limit: 100, name, state: state as State, signal })}
        reasons={[db, name, state]}
        empty={<NoSagas />}
        columns={[
          {
            title: "Saga",
            cell: (saga) => <a href={hrefOf(["reactions", "sagas", saga.saga_id])}>{saga.name}</a>,
          },
          { title: "State", cell: (saga) => <StatusChip state={saga.state} /> },
          { title: "Started", cell: (saga) => <TimeText at={saga.started_at} /> },
          {
            title: "By",
            cell: ({ trigger: { key, stream_id, event_type } }) => (
              <>
                {event_type} of <a href={hrefOfStream(key, stream_id)}>{key}</a>
              </>
            ),
          },
        ]}
      />
    </>
  );
}

function NoSagas() {
  return (
    <EmptyState title="No such saga">
      Sagas are declared in the spec, under{" "}
      <code>modules.sagas</code>. An ended saga is shown for 30 days.
    </EmptyState>
  );
}

export function SagaView({ id }: { id: string }) {
  const { db } = connection.value;
  const saga = useLoaded((signal) => db.$sagas.get(id, { signal }), [db, id]);
  return (
    <>
      <p>
        <a href={hrefOf(["reactions", "sagas"])}>All sagas</a>
      </p>
      <LoadingView of={saga}>{({ saga }) => <History saga={saga} />}</LoadingView>
    </>
  );
}

function History({ saga }: { saga: Saga }) {
  const { name, state, trigger, started_at, waiting_for, history } = saga;
  return (
    <>
      <h2>
        {name} <StatusChip state={state} />
      </h2>
      <p>
        Started <TimeText at={started_at} /> by {trigger.event_type} of{" "}
        <a href={hrefOfStream(trigger.key, trigger.stream_id)}>{trigger.key}</a>.
      </p>
      {waiting_for !== undefined && (
        <p class="note">
          Waits in step <strong>{waiting_for.step}</strong>
          {waiting_for.key !== undefined && (
            <>
              {" "}for {waiting_for.event_types?.join(" or ")} of{" "}
              <a href={hrefOfStream(waiting_for.key)}>{waiting_for.key}</a>
            </>
          )}
          {waiting_for.until !== undefined && (
            <>
              , until <TimeText at={waiting_for.until} />
            </>
          )}.
        </p>
      )}
      <ol class="timeline" aria-label="History">
        {history.map(({ at, step, outcome, event, reason }, index) => (
          <li key={index}>
            <strong>{step}</strong> <StatusChip state={outcome} /> <TimeText at={at} />
            {event !== undefined && (
              <>
                {": "}
                {event.event_type} of{" "}
                <a href={hrefOfStream(event.key, event.stream_id)}>{event.key}</a>
              </>
            )}
            {reason !== undefined && <>{": "}{reason}</>}
          </li>
        ))}
      </ol>
    </>
  );
}
