/** Listeners with the state of their deliveries, the tries of one, and sending again. */

import { useState } from "preact/hooks";
import type { Delivery, Listener, Refusal } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

const STATES = ["pending", "delivered", "dead", "dropped"] as const;
type State = typeof STATES[number];

export function Listeners() {
  const { db } = connection.value;
  return (
    <PagedTable<Listener>
      caption="Listeners"
      keyOf={({ name }) => name}
      load={(start, signal) => db.$listeners.listPage({ start, limit: 100, signal })}
      reasons={[db]}
      empty={
        <EmptyState title="No listeners">
          Listeners are declared in the spec, under{" "}
          <code>modules.listeners</code>: each event that they subscribe to is sent to their
          address.
        </EmptyState>
      }
      columns={[
        {
          title: "Listener",
          cell: ({ name }) => <a href={hrefOf(["reactions", "listeners", name])}>{name}</a>,
        },
        { title: "Address", cell: ({ url }) => <code>{url}</code> },
        { title: "Events", cell: ({ events }) => events.join(", ") },
        {
          title: "Circuit",
          cell: ({ circuit, enabled }) =>
            enabled
              ? (
                <>
                  <StatusChip state={circuit.state} />
                  {circuit.until !== undefined && (
                    <>
                      until <TimeText at={circuit.until} />
                    </>
                  )}
                </>
              )
              : <StatusChip state="disabled" />,
        },
        ...STATES.map((state) => ({
          title: state,
          isNumber: true,
          cell: ({ deliveries }: Listener) => deliveries[state].toLocaleString("en"),
        })),
      ]}
    />
  );
}

export function ListenerView({ id: name }: { id: string }) {
  const { db, writer } = connection.value;
  const { state } = place.value.query;
  const [version, setVersion] = useState(0);
  const [told, setTold] = useState<string | Refusal>();

  async function replay(which: { delivery_id: string } | { since: string }): Promise<void> {
    const answer = await writer!.$request<{ ok: true; replayed: number; truncated?: boolean }>({
      method: "POST",
      path: `/_listeners/${encodeURIComponent(name)}/replay`,
      body: which,
    });
    setTold(answer.ok ? toldOf(answer) : answer as Refusal);
    setVersion(version + 1);
  }

  return (
    <>
      <p>
        <a href={hrefOf(["reactions", "listeners"])}>All listeners</a>
      </p>
      <h2>{name}</h2>
      <div class="row">
        <Choice
          label="State"
          value={state ?? ""}
          options={[["", "every state"], ...STATES.map((one) => [one, one] as const)]}
          onChange={(value) => setQuery({ state: value || undefined })}
        />
        <button type="button" onClick={() => setVersion(version + 1)}>Reload</button>
      </div>
      {writer === undefined && (
        <p class="quiet">
          Sending again needs an API key with the scope <code>write</code>.
        </p>
      )}
      {writer !== undefined && <ReplaySince replay={(since) => replay({ since })} />}
      {typeof told === "string" && <p class="note good" role="status">{told}</p>}
      {typeof told === "object" && <RefusalNote refusal={told} />}
      <PagedTable<Delivery>
        caption={`Deliveries to ${name}`}
        keyOf={({ delivery_id }) => delivery_id}
        load={(start, signal) =>
          db.$listeners.deliveriesPage(name, { start, limit: 100, state: state as State, signal })}
        reasons={[db, state, version]}
        empty={
          <EmptyState title="No such delivery">Delivered ones are kept for a while.</EmptyState>
        }
        columns={[
          {
            title: "Event",
            cell: ({ event: { key, stream_id } }) => (
              <a href={hrefOfStream(key, stream_id)}>{key}, event {Number(stream_id)}</a>
            ),
          },
          { title: "State", cell: (delivery) => <StatusChip state={delivery.state} /> },
          { title: "Tries", cell: (delivery) => <Tries delivery={delivery} /> },
          {
            title: "Action",
            cell: ({ delivery_id, state }) =>
              writer && state !== "pending" && (
                <button
                  type="button"
                  class="small"
                  onClick={() => replay({ delivery_id })}
                >
                  Send again
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

function toldOf({ replayed, truncated }: { replayed: number; truncated?: boolean }): string {
  const sent = replayed === 1
    ? "One delivery is"
    : `${replayed.toLocaleString("en")} deliveries are`;
  return `${sent} sent again.${
    truncated ? " There are more: choose the time of the last one." : ""
  }`;
}

function ReplaySince({ replay }: { replay: (since: string) => void }) {
  const [local, setLocal] = useState("");
  return (
    <form
      class="row"
      onSubmit={(event) => {
        event.preventDefault();
        replay(new Date(local).toISOString());
      }}
    >
      <Field
        label="Send again all since"
        type="datetime-local"
        value={local}
        required
        onInput={setLocal}
      />
      <button type="submit" disabled={local === ""}>Send again</button>
    </form>
  );
}

function Tries({ delivery }: { delivery: Delivery }) {
  const { attempts, tries, next_try_at, reason } = delivery;
  return (
    <details>
      <summary>{attempts}</summary>
      <ul>
        {tries.map(({ at, status, failure, duration_ms }) => (
          <li key={at}>
            <TimeText at={at} />: {status ?? failure} after {duration_ms} ms
          </li>
        ))}
      </ul>
      {next_try_at !== undefined && (
        <p>
          The next try: <TimeText at={next_try_at} />
        </p>
      )}
      {reason !== undefined && <p>{reason}</p>}
    </details>
  );
}
