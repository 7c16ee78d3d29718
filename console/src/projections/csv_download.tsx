/** All rows of a projection as a CSV file. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import { Command } from "../parts/empty_state.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { saveFile } from "../parts/save_file.ts";
import { connection } from "../shell/connection.ts";

/** A page holds a file before the browser saves it; larger ones are for the command line. */
const CSV_BYTES_MAX = 128 * 1024 * 1024;
/** How long a whole export may take. */
const CSV_MS_MAX = 10 * 60 * 1000;

type State =
  | { readonly kind: "idle" | "large" }
  | { readonly kind: "running"; readonly bytes: number }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export function CsvDownload({ name, isStale }: { name: string; isStale: boolean }) {
  const { db, instanceId } = connection.value;
  const [state, setState] = useState<State>({ kind: "idle" });
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function load(): Promise<void> {
    setState({ kind: "running", bytes: 0 });
    const ending = running.current = new AbortController();
    const { signal } = ending;
    const answer = await db.$projections.csv(name, {
      formulas: "text",
      stale: isStale || undefined,
      signal,
      timeoutMs: CSV_MS_MAX,
    });
    if (signal.aborted) return;
    if (!answer.ok) return setState({ kind: "refused", refusal: answer as Refusal });
    const parts: Uint8Array<ArrayBuffer>[] = [];
    let bytes = 0;
    try {
      for await (const part of answer.stream) {
        parts.push(part as Uint8Array<ArrayBuffer>);
        bytes += part.length;
        setState({ kind: "running", bytes });
        if (bytes > CSV_BYTES_MAX) {
          ending.abort();
          return setState({ kind: "large" });
        }
      }
    } catch (cause) {
      if (signal.aborted) return;
      const error = `The export broke off after ${bytes} bytes: ${(cause as Error).message}`;
      const refusal: Refusal = { ok: false, error_type: "unreachable", error, status: 0 };
      return setState({ kind: "refused", refusal });
    }
    // Who has left the page wants no file.
    if (signal.aborted) return;
    saveFile(`${name}.csv`, new Blob(parts, { type: "text/csv" }));
    setState({ kind: "idle" });
  }

  const instance = instanceId === undefined ? "" : `&instance_id=${instanceId}`;
  const url = `${location.origin}/_projections/${encodeURIComponent(name)}/export.csv` +
    `?formulas=text${instance}`;
  return (
    <>
      <button type="button" disabled={state.kind === "running"} onClick={load}>
        {state.kind === "running"
          ? `Loading: ${state.bytes.toLocaleString("en")} bytes`
          : "Download CSV"}
      </button>
      {state.kind === "refused" && <RefusalNote refusal={state.refusal} />}
      {state.kind === "large" && (
        <div class="note warning" role="alert">
          <p>
            The file is larger than this page may hold ({CSV_BYTES_MAX / 1024 / 1024}{" "}
            MiB). Load it from the command line:
          </p>
          <Command
            text={`curl -H "Authorization: Bearer $DAYBOOK_KEY" -o ${name}.csv '${url}'`}
          />
        </div>
      )}
    </>
  );
}
