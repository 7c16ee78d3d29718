/** History from elsewhere, erasures, and anchors. */

import type { Admin } from "./calls.ts";
import type { Operator } from "./operator.ts";

const LINES_TYPE = "application/x-ndjson";

export function evidenceCalls(
  { askInstance, lists, newId }: Operator,
): Pick<Admin, "imports" | "erasures" | "anchors"> {
  const askTombstone = (id: string) => `/_admin/tombstones/${encodeURIComponent(id)}`;

  return {
    imports: {
      ...lists("fields", "/_admin/imports"),
      // Under an id of its own an import may be sent again, because stored events are skipped.
      events(events, { import_id = newId(), ...options } = {}) {
        const body = { events, import_id };
        return askInstance("fields", { method: "POST", path: "/_admin/import", body, options });
      },
      lines(file, { import_id = newId(), cold_start = false, ...options } = {}) {
        const path = cold_start ? "/_admin/cold_start" : "/_admin/import_jsonl";
        const body = new Blob([file as BlobPart], { type: LINES_TYPE });
        return askInstance("fields", { method: "POST", path, query: { import_id }, body, options });
      },
      get(id, options) {
        return askInstance("fields", {
          path: `/_admin/imports/${encodeURIComponent(id)}`,
          options,
        });
      },
    },
    erasures: {
      ...lists("fields", "/_admin/tombstones"),
      request: (request, options) =>
        askInstance("fields", {
          method: "POST",
          path: "/_admin/tombstones",
          body: request,
          once: true,
          options,
        }),
      get: (id, options) => askInstance("fields", { path: askTombstone(id), options }),
      cancel: (id, options) =>
        askInstance("fields", { method: "DELETE", path: askTombstone(id), options }),
    },
    anchors: {
      ...lists("data", "/_audit/anchors"),
      make: (options) =>
        askInstance("fields", { method: "POST", path: "/_admin/anchors", body: {}, options }),
      get(id, options) {
        return askInstance("data", { path: `/_audit/anchors/${encodeURIComponent(id)}`, options });
      },
      signingKey: (options) => askInstance("data", { path: "/_audit/signing-key", options }),
      newSigningKey: (options) =>
        askInstance("fields", {
          method: "POST",
          path: "/_admin/signing-keys",
          body: {},
          once: true,
          options,
        }),
    },
  };
}
