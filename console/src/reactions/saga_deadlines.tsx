/** Running sagas that act when what they wait for has not come by a time. */

import type { Client, Refusal, Saga } from "@daybook/client";
import { LoadingView } from "../parts/loading_view.tsx";
import { DataTable } from "../parts/data_table.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf } from "../shell/router.ts";
import { hrefOfStream } from "../shell/stream_address.ts";

/** So many sagas are asked for: the list names them, but not what they wait for. */
const SAGAS_MAX = 50;
const SAGAS_AT_ONCE = 5;

interface Waiting {
  readonly ok: true;
  /** By their time. */
  readonly sagas: readonly Saga[];
  readonly hasMore: boolean;
}

export function SagaDeadlines() {
  const { db } = connection.value;
  const waiting = useLoaded((signal) => loadWaiting(db, signal), [db]);
  return (
    <section aria-label="Deadlines of sagas">
      <h2>Deadlines of sagas</h2>
      <LoadingView of={waiting}>{(value) => <List {...value} />}</LoadingView>
    </section>
  );
}

async function loadWaiting(db: Client, signal: AbortSignal): Promise<Waiting | Refusal> {
  const page = await db.$sagas.listPage({ state: "running", limit: SAGAS_MAX, signal });
  if (!page.ok) return page as Refusal;
  const sagas: Saga[] = [];
  for (let at = 0; at < page.data.length; at += SAGAS_AT_ONCE) {
    const asked = page.data.slice(at, at + SAGAS_AT_ONCE);
    const answers = await Promise.all(
      asked.map(({ saga_id }) => db.$sagas.get(saga_id, { signal })),
    );
    // One that has ended meanwhile waits for nothing.
    for (const answer of answers) if (answer.ok) sagas.push(answer.saga);
  }
  return {
    ok: true,
    sagas: sagas.filter(hasDeadline).toSorted(byTime),
    hasMore: page.next_start !== undefined,
  };
}

function hasDeadline({ waiting_for }: Saga): boolean {
  return waiting_for?.until !== undefined;
}

function byTime(a: Saga, b: Saga): number {
  return a.waiting_for!.until! - b.waiting_for!.until!;
}

function List({ sagas, hasMore }: Waiting) {
  return (
    <>
      {sagas.length === 0 ? <p>No running saga waits for anything.</p> : (
        <DataTable
          caption="Deadlines of sagas"
          keyOf={({ saga_id }) => saga_id}
          rows={sagas}
          columns={[
            { title: "When", cell: (saga) => <TimeText at={saga.waiting_for!.until!} isLong /> },
            {
              title: "Unless this comes",
              cell: ({ waiting_for }) =>
                waiting_for?.key && (
                  <>
                    <strong>{waiting_for.event_types?.join(" or ")}</strong> to{" "}
                    <a href={hrefOfStream(waiting_for.key)}>{waiting_for.key}</a>
                  </>
                ),
            },
            {
              title: "This saga",
              cell: ({ saga_id, name, waiting_for }) => (
                <>
                  <a href={hrefOf(["reactions", "sagas", saga_id])}>{name}</a> fails in the step
                  {" "}
                  {waiting_for!.step} and undoes the steps before
                </>
              ),
            },
            {
              title: "Started by",
              cell: ({ trigger: { key, stream_id, event_type } }) => (
                <>
                  {event_type} of <a href={hrefOfStream(key, stream_id)}>{key}</a>
                </>
              ),
            },
          ]}
        />
      )}
      {hasMore && (
        <p class="note">
          Only {SAGAS_MAX} running sagas were looked at.{" "}
          <a href={hrefOf(["reactions", "sagas"], { state: "running" })}>All running sagas</a>
        </p>
      )}
    </>
  );
}
