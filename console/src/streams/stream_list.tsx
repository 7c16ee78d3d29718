/** The streams of one type, in pages, found by how their id begins. */

import { EmptyState } from "../parts/empty_state.tsx";
import { Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { goTo, hrefOf, place, setQuery } from "../shell/router.ts";
import { usePaging } from "../shell/paging.ts";
import { callsOf } from "../shell/settled.ts";

const PAGE_STREAMS = 100;

export function StreamList({ type }: { type: string }) {
  const { db } = connection.value;
  const { prefix = "" } = place.value.query;
  const { rows: ids, next, refusal, isLoading, more } = usePaging<string>(
    (start, signal) =>
      callsOf(db, type).listPage({
        prefix: prefix || undefined,
        start,
        limit: PAGE_STREAMS,
        signal,
      }),
    [db, prefix],
  );
  return (
    <>
      <p>
        <a href={hrefOf(["streams"])}>All types</a>{" "}
        <a href={hrefOf(["write", type])}>Write to a new stream</a>
      </p>
      <h1>{type}</h1>
      <form class="row" onSubmit={(event) => openFirst(event, type, prefix)}>
        <Field
          label="Id begins with"
          type="search"
          value={prefix}
          hint="Enter opens the stream of that id"
          onInput={(value) => setQuery({ prefix: value.trim() || undefined })}
        />
      </form>
      {refusal !== undefined && <RefusalNote refusal={refusal} onRetry={more} />}
      {ids.length > 0 && (
        <ul class="ids" aria-label={`Streams of ${type}`}>
          {ids.map((id) => (
            <li key={id}>
              <a class="mono" href={hrefOf(["streams", type, id])}>{id}</a>
            </li>
          ))}
        </ul>
      )}
      {!isLoading && refusal === undefined && ids.length === 0 && (
        <EmptyState title="No such stream">
          {prefix === ""
            ? "No event of this type has been written."
            : `No id of this type begins with ${prefix}.`}
        </EmptyState>
      )}
      {next !== undefined && refusal === undefined && (
        <button type="button" disabled={isLoading} onClick={more}>
          Show more
        </button>
      )}
    </>
  );
}

function openFirst(event: SubmitEvent, type: string, id: string): void {
  event.preventDefault();
  if (id !== "") goTo(["streams", type, id]);
}
