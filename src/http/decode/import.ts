/**
 * Decodes the body or query of an import. It checks shapes only; lines are checked as they are
 * read.
 */

import { isImportId } from "../../domain/import/progress.ts";
import type { JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { JsonSender } from "./body.ts";
import { readFields } from "./operator.ts";
import { badQuery, readFlag } from "./query.ts";

export interface ImportQuery {
  readonly importId?: string;
  /** Whether to report progress while the import runs. */
  readonly isTold: boolean;
}

/** `?import_id=&progress=`. */
export function decodeImportQuery(text: string): Outcome<ImportQuery> {
  const query = new URLSearchParams(text);
  const told = readFlag(query, "progress");
  if (!told.ok) return told;
  const importId = query.get("import_id") ?? undefined;
  if (importId !== undefined && !isImportId(importId)) return badQuery("import_id", ID_RULE);
  return accept({ importId, isTold: told.value });
}

const ID_RULE = "must be 1 to 100 letters, digits and . _ : - and begin with a letter or digit";

export interface ImportBody {
  readonly environment?: string;
  readonly instance_id?: string;
  readonly importId?: string;
  /** Each event becomes a line of the imported file. */
  readonly events: readonly JsonValue[];
}

const FIELDS = {
  "environment?": "string",
  "instance_id?": "string",
  "import_id?": "string",
  events: "any",
} as const;

const encoder = new TextEncoder();
const PIECE_CHARACTERS = 64 * 1024;

/** `{environment?, instance_id?, import_id?, events: [...]}`. */
export async function readImportBody(sender: JsonSender): Promise<Outcome<ImportBody>> {
  const fields = await readFields(sender, FIELDS, limits.requestBodyBytesMax);
  if (!fields.ok) return fields;
  const { environment, instance_id, import_id: importId, events } = fields.value;
  if (importId !== undefined && !isImportId(importId)) {
    return refuse({ kind: "bad_request", path: "import_id", message: `import_id ${ID_RULE}` });
  }
  const { importEventsMax } = limits;
  if (!Array.isArray(events) || events.length === 0) {
    const message = "events must be an array of at least one event";
    return refuse({ kind: "bad_request", path: "events", message });
  }
  if (events.length > importEventsMax) {
    const message = `events must hold at most ${importEventsMax} events; ` +
      "POST /_admin/import_jsonl takes more";
    return refuse({ kind: "write_invalid", path: "events", message });
  }
  return accept({ environment, instance_id, importId, events });
}

/** The events as lines of JSON, in chunks. */
export function* linesOf(events: readonly JsonValue[]): Generator<Outcome<Uint8Array>> {
  let lines = "";
  for (const event of events) {
    lines += `${JSON.stringify(event)}\n`;
    if (lines.length < PIECE_CHARACTERS) continue;
    yield accept(encoder.encode(lines));
    lines = "";
  }
  if (lines !== "") yield accept(encoder.encode(lines));
}
