/** What the server or the network refused: what is wrong, where, and what to do. */

import type { RefusalBase } from "@daybook/client";

/** Where a server has the page of an `error_type`. An address elsewhere is not one of ours. */
const PAGES = "/_docs/errors/";

export interface RefusalNoteProps {
  readonly refusal: RefusalBase & { readonly error_type?: string; readonly details?: unknown };
  readonly onRetry?: () => void;
}

export function RefusalNote({ refusal, onRetry }: RefusalNoteProps) {
  const { error, error_type, hint, path, details, request_id, status, docs } = refusal;
  const name = <code>{error_type ?? "refused"}</code>;
  return (
    <div class="note danger" role="alert">
      <p>
        <strong>{error}</strong>
        {path
          ? (
            <>
              {" "}at <code>{path}</code>
            </>
          )
          : null}
      </p>
      {hint && <p>{hint}</p>}
      {Array.isArray(details) && (
        <ul>{details.map((detail, index) => <li key={index}>{textOfDetail(detail)}</li>)}</ul>
      )}
      <p class="quiet">
        {docs?.startsWith(PAGES)
          ? <a href={`..${docs}`} target="_blank" rel="noreferrer">{name}</a>
          : name}
        {status > 0 && <>, status {status}</>}
        {request_id && (
          <>
            , request <code>{request_id}</code>
          </>
        )}
      </p>
      {onRetry && <button type="button" onClick={onRetry}>Try again</button>}
    </div>
  );
}

function textOfDetail(detail: unknown): string {
  if (typeof detail === "string") return detail;
  const { path, message } = (detail ?? {}) as { path?: unknown; message?: unknown };
  if (typeof path === "string" && typeof message === "string") return `${path} ${message}`;
  return JSON.stringify(detail);
}
