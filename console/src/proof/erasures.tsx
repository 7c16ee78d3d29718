/** `#/proof/erasures`: the requests to erase a stream, and one of them: `/{id}`. */

import { useState } from "preact/hooks";
import type { Tombstone } from "@daybook/client/admin";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { PagedTable } from "../parts/paged_table.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { about, connection } from "../shell/connection.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";
import { type ErasureFilter, findErasures, isErasureState } from "./erasure_filter.ts";
import { ErasureView } from "./erasure_view.tsx";
import { NewErasure } from "./new_erasure.tsx";
import { readChoice, streamsMeant } from "./event_choice.ts";

const STATES = [
  ["", "all"],
  ["pending", "pending"],
  ["running", "running"],
  ["completed", "completed"],
  ["cancelled", "cancelled"],
] as const;

export function Erasures({ id }: { id?: string }) {
  if (connection.value.admin === undefined) {
    return (
      <EmptyState title="Erasures are listed for operators">
        Sign in with an operator token to see them. The receipt of an erasure can be verified with
        any credential, under <a href={hrefOf(["proof", "evidence"])}>Evidence that you have</a>.
      </EmptyState>
    );
  }
  return id === undefined ? <ErasureList /> : <ErasureView key={id} id={id} />;
}

function ErasureList() {
  const admin = connection.value.admin!;
  const { stream: typed = "", state } = place.value.query;
  const filter: ErasureFilter = {
    streams: streamsOf(typed),
    state: isErasureState(state) ? state : undefined,
  };
  return (
    <section aria-label="Erasures">
      <p class="quiet">
        An erasure replaces the events of a stream by markers and removes every copy of them. Its
        signed receipt proves who asked for it, why, and when it was done.
      </p>
      <NewErasure />
      <Filter key={typed} typed={typed} state={filter.state} />
      <PagedTable<Tombstone>
        caption="Erasures"
        keyOf={({ id }) => id}
        load={(start, signal) =>
          findErasures(
            (start) => admin.erasures.listPage({ start, limit: 100, signal }),
            filter,
            start,
          )}
        reasons={[admin, typed, filter.state]}
        empty={<NoErasures isFiltered={typed !== "" || filter.state !== undefined} />}
        columns={[
          {
            title: "Requested",
            cell: ({ id, requested_at }) => (
              <a href={hrefOf(["proof", "erasures", id])}>
                <TimeText at={requested_at} />
              </a>
            ),
          },
          { title: "Stream", cell: ({ key }) => <a href={hrefOfStream(key)}>{key}</a> },
          { title: "State", cell: ({ state }) => <StatusChip state={state} /> },
          { title: "Reason", cell: ({ reason }) => <bdi>{shortened(reason)}</bdi> },
          {
            title: "Receipt",
            cell: ({ id, receipt }) =>
              receipt !== undefined && <a href={hrefOf(["proof", "erasures", id])}>Verify</a>,
          },
        ]}
      />
    </section>
  );
}

function Filter({ typed, state }: { typed: string; state: string | undefined }) {
  const [stream, setStream] = useState(typed);
  const [fault, setFault] = useState<string>();

  function find(event: SubmitEvent): void {
    event.preventDefault();
    const read = stream.trim() === "" ? undefined : readChoice(stream, "0");
    if (read?.ok === false) return setFault(read.message);
    setFault(undefined);
    setQuery({ stream: stream.trim() || undefined });
  }

  return (
    <form class="row" aria-label="Find erasures" onSubmit={find}>
      <Field
        label="Stream"
        placeholder="order:7KD2M9QXA"
        value={stream}
        fault={fault}
        onInput={setStream}
      />
      <Choice
        label="State"
        options={STATES}
        value={state ?? ""}
        onChange={(state) => setQuery({ state: state || undefined })}
      />
      <button type="submit">Find</button>
    </form>
  );
}

function NoErasures({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <EmptyState title="No erasure is like this" />;
  const { environment } = about.value!;
  const body = { key: "person:7KD2M9QXA", reason: "asked for by the person", environment };
  return (
    <EmptyState
      title="Nothing was to be erased so far"
      command={[
        `curl -s ${location.origin}/_admin/tombstones -H "Authorization: Bearer $TOKEN" \\`,
        `  -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`,
      ].join("\n")}
    >
      An operator requests the erasure of a stream; it begins after a time of grace, until which it
      can be cancelled.
    </EmptyState>
  );
}

/** A stream that is no stream in the address finds nothing. */
function streamsOf(typed: string): readonly string[] | undefined {
  if (typed === "") return undefined;
  const read = readChoice(typed, "0");
  return read.ok ? streamsMeant(read.choice) : [];
}

const REASON_SHOWN = 80;

function shortened(text: string): string {
  return text.length > REASON_SHOWN ? `${text.slice(0, REASON_SHOWN)}…` : text;
}
