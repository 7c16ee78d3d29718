/** One row of a projection in full: its values, what it is made of, and why it may be old. */

import { JsonView } from "../parts/json_view.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, setQuery } from "../shell/router.ts";

export interface RowDetailProps {
  readonly projection: string;
  /** Its key. */
  readonly row: string;
  readonly isStale: boolean;
}

export function RowDetail({ projection, row, isStale }: RowDetailProps) {
  const { db, admin } = connection.value;
  const loaded = useLoaded(async (signal) => {
    const answer = await db.$projections.row(projection, row, {
      signal,
      stale: isStale || undefined,
    });
    if (!answer.ok || admin === undefined) return answer;
    // Only operators can see which aggregates the rows are made of.
    const list = await admin.projections.listPage({ limit: 100, signal });
    const found = list.ok ? list.data.find(({ name }) => name === projection) : undefined;
    return { ...answer, type: found?.projection.for_each as string | undefined };
  }, [db, row]);
  return (
    <section class="card" aria-label={`Row ${row}`}>
      <h2 class="mono">{row}</h2>
      <LoadingView of={loaded}>
        {(answer) => (
          <>
            <p class="quiet">
              Shows {answer.metadata.position}{" "}
              {answer.metadata.position === 1 ? "event" : "events"}; the newest event that it shows
              anything of: <TimeText at={answer.metadata.updated_at} />
            </p>
            {answer.metadata.error !== undefined && (
              <p class="note danger">
                This row could not be computed since{" "}
                <TimeText at={answer.metadata.error.since} />, so it has its old values:{" "}
                <code>{answer.metadata.error.error_type}</code>, record{" "}
                <code>{answer.metadata.error.error_id}</code>.{" "}
                <a href={hrefOf(["reactions", "errors"])}>All errors</a>
              </p>
            )}
            <JsonView value={answer.data} />
            {"type" in answer && typeof answer.type === "string" && (
              <a class="button" href={hrefOf(["streams", answer.type, row])}>
                Its stream {answer.type}:{row}
              </a>
            )}
          </>
        )}
      </LoadingView>{" "}
      <button type="button" onClick={() => setQuery({ row: undefined })}>Close</button>
    </section>
  );
}
