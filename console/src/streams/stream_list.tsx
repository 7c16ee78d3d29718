/** The streams of one type, in pages, found by how their id begins. */

import { useEffect, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { goTo, hrefOf, place, setQuery } from "../shell/router.ts";

const PAGE_STREAMS = 100;

interface Found {
  readonly ids: readonly string[];
  readonly next?: string;
  readonly refusal?: Refusal;
  readonly isLoading: boolean;
}

const NOTHING: Found = { ids: [], isLoading: true };

export function StreamList({ type }: { type: string }) {
  const { db } = connection.value;
  const { prefix = "" } = place.value.query;
  const [found, setFound] = useState(NOTHING);

  useEffect(() => {
    const ending = new AbortController();
    setFound(NOTHING);
    void load(NOTHING, ending.signal);
    return () => ending.abort();
  }, [db, prefix]);

  async function load(known: Found, signal?: AbortSignal): Promise<void> {
    const answer = await db[type]!.listPage({
      prefix: prefix || undefined,
      start: known.next,
      limit: PAGE_STREAMS,
      signal,
    });
    if (signal?.aborted) return;
    if (!answer.ok) return setFound({ ...known, refusal: answer as Refusal, isLoading: false });
    const ids = [...known.ids, ...answer.data as readonly string[]];
    setFound({ ids, next: answer.truncated ? answer.next_start : undefined, isLoading: false });
  }

  const { ids, next, refusal, isLoading } = found;
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
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
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
      {next !== undefined && <button type="button" onClick={() => load(found)}>Show more</button>}
    </>
  );
}

function openFirst(event: SubmitEvent, type: string, id: string): void {
  event.preventDefault();
  if (id !== "") goTo(["streams", type, id]);
}
