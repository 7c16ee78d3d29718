/** Listeners with the state of their deliveries, the tries of one, and sending again. */

import { useEffect, useState } from "preact/hooks";
import type { Client, Delivery, Listener, Refusal } from "@daybook/client";
import { Confirm } from "../parts/confirm.tsx";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { about, connection } from "../shell/connection.ts";
import { useOwnWriter } from "../shell/own_writer.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { WriterNote } from "./writer_note.tsx";

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
  const { state } = place.value.query;
  const own = useOwnWriter();
  const { writer } = own;
  const [version, setVersion] = useState(0);
  const [told, setTold] = useState<string | Refusal>();
  const [isBusy, setBusy] = useState(false);

  function show(answer: Replayed | Refusal): void {
    setTold(answer.ok ? toldOf(answer) : answer as Refusal);
    setVersion((before) => before + 1);
  }

  async function sendAgain(deliveryId: string): Promise<void> {
    if (isBusy || writer === undefined) return;
    setBusy(true);
    show(await replay(writer, name, { delivery_id: deliveryId }));
    setBusy(false);
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
      <WriterNote of={own} act="Sending again" />
      {writer !== undefined && <ReplaySince writer={writer} name={name} onReplayed={show} />}
      {typeof told === "string" && <p class="note good" role="status">{told}</p>}
      {typeof told === "object" && <RefusalNote refusal={told} />}
      <Deliveries
        name={name}
        version={version}
        isBusy={isBusy}
        onSendAgain={writer && sendAgain}
      />
    </>
  );
}

interface DeliveriesProps {
  readonly name: string;
  /** Another one asks the server again. */
  readonly version: number;
  readonly isBusy: boolean;
  /** Absent if nothing may be sent again. */
  readonly onSendAgain?: (deliveryId: string) => void;
}

function Deliveries({ name, version, isBusy, onSendAgain }: DeliveriesProps) {
  const { db } = connection.value;
  const { state } = place.value.query;
  return (
    <PagedTable<Delivery>
      caption={`Deliveries to ${name}`}
      keyOf={({ delivery_id }) => delivery_id}
      load={(start, signal) =>
        db.$listeners.deliveriesPage(name, { start, limit: 100, state: state as State, signal })}
      reasons={[db, state, version]}
      empty={<EmptyState title="No such delivery">Delivered ones are kept for a while.</EmptyState>}
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
            onSendAgain && state !== "pending" && (
              <button
                type="button"
                class="small"
                aria-disabled={isBusy}
                onClick={() => onSendAgain(delivery_id)}
              >
                Send again
              </button>
            ),
        },
      ]}
    />
  );
}

interface Replayed {
  readonly ok: true;
  readonly replayed: number;
  /** There are more deliveries than are sent again in one call. */
  readonly truncated?: boolean;
  /** Where the next call goes on. */
  readonly next_start?: string;
}

/** Never sent twice, for a receiver would get all of it twice. */
function replay(
  writer: Client,
  name: string,
  which: { readonly delivery_id: string } | { readonly since: string; readonly start?: string },
): PromiseLike<Replayed | Refusal> {
  return writer.$request<Replayed>({
    method: "POST",
    path: `/_listeners/${encodeURIComponent(name)}/replay`,
    body: which,
    once: true,
  });
}

function toldOf({ replayed, truncated }: Replayed): string {
  const sent = replayed === 1
    ? "One delivery is"
    : `${replayed.toLocaleString("en")} deliveries are`;
  return `${sent} sent again${truncated ? ", and there are more" : ""}.`;
}

interface ReplaySinceProps {
  readonly writer: Client;
  readonly name: string;
  /** Is told after each call what all of them have sent. */
  readonly onReplayed: (answer: Replayed) => void;
}

/** What is sent again since a time, in as many calls as it takes. */
interface Sending {
  readonly since: string;
  /** Once it is closed, no further call begins. */
  readonly closing: AbortController;
  /** Where the next call begins; absent for the first one. */
  start?: string;
  replayed: number;
}

function ReplaySince({ writer, name, onReplayed }: ReplaySinceProps) {
  const [local, setLocal] = useState("");
  const [asked, setAsked] = useState<Sending>();
  useEffect(() => () => asked?.closing.abort(), [asked]);

  function close(): void {
    asked?.closing.abort();
    setAsked(undefined);
  }

  /** After a refusal, it goes on behind what was sent. */
  async function send(sending: Sending): Promise<{ readonly ok: true } | Refusal> {
    const { since, closing } = sending;
    while (!closing.signal.aborted) {
      const answer = await replay(writer, name, { since, start: sending.start });
      if (!answer.ok) return answer;
      const { truncated, next_start } = answer as Replayed;
      sending.replayed += (answer as Replayed).replayed;
      sending.start = next_start;
      onReplayed({ ok: true, replayed: sending.replayed, truncated });
      if (!truncated || next_start === undefined) break;
    }
    return { ok: true };
  }

  return (
    <>
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          const since = new Date(local).toISOString();
          setAsked({ since, closing: new AbortController(), replayed: 0 });
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
      {asked !== undefined && (
        <Confirm
          title="Send these deliveries again?"
          verb="Send them again"
          environment={about.value!.environment}
          onConfirm={() => send(asked)}
          onClose={close}
        >
          <p>
            All ended deliveries to <strong>{name}</strong> of events that were written since{" "}
            <code>{asked.since}</code>{" "}
            are sent again. Its receiver gets those once more that it has had.
          </p>
        </Confirm>
      )}
    </>
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
