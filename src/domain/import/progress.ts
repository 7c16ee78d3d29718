/**
 * How far an import has come: what is kept of it in the transactions that append its events, and
 * what people are told. A rerun under the same id goes on where the record says.
 */

export type ImportForm = "import" | "import_jsonl" | "cold_start";

/** A place between two lines of the file, and the SHA-256 of all bytes before it, in hex. */
export interface FilePlace {
  readonly bytes: number;
  readonly digest: string;
}

export interface ImportRecord {
  readonly id: string;
  readonly form: ImportForm;
  /** Of the request that runs it now, or ran it last: a later one takes it over. */
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly updatedMs: number;
  /** Up to here all events of the file are stored; lines are counted with the empty ones. */
  readonly place: FilePlace;
  readonly lines: number;
  /** Events stored by all requests together. */
  readonly written: number;
  /** Where the file ended; then there is nothing left to do. */
  readonly isComplete: boolean;
  /**
   * A window behind `place` of which a part is stored: where it ends, and how many of its events
   * are stored, in the order in which it has them, stream by stream.
   */
  readonly window?: FilePlace & { readonly done: number };
}

/** An import as people are told of it. */
export interface ImportView {
  readonly import_id: string;
  readonly form: ImportForm;
  /** `running` also where it has stopped and may be run again: nobody can tell the two apart. */
  readonly state: "running" | "complete";
  readonly written: number;
  readonly lines: number;
  readonly bytes: number;
  /** ISO 8601 UTC. */
  readonly started_at: string;
  readonly updated_at: string;
}

export function viewImport(record: ImportRecord): ImportView {
  return {
    import_id: record.id,
    form: record.form,
    state: record.isComplete ? "complete" : "running",
    written: record.written,
    lines: record.lines,
    bytes: record.place.bytes,
    started_at: new Date(record.startedMs).toISOString(),
    updated_at: new Date(record.updatedMs).toISOString(),
  };
}

const IMPORT_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/;

/** What an import may be called. */
export function isImportId(text: string): boolean {
  return IMPORT_ID.test(text);
}
