/**
 * Progress of an import: the record that is stored with its events, and what the API shows of
 * it.
 *
 * Each transaction that appends events also stores the record. A rerun under the same id goes
 * on where the record says.
 */

export type ImportForm = "import" | "import_jsonl" | "cold_start";

/** A place between two lines of the file, with the SHA-256 in hex of all bytes before it. */
export interface FilePlace {
  readonly bytes: number;
  readonly digest: string;
}

export interface ImportRecord {
  readonly id: string;
  readonly form: ImportForm;
  /**
   * Id of the request that runs the import now or ran it last. A later request takes the import
   * over.
   */
  readonly run: string;
  /** Milliseconds since 1970. */
  readonly startedMs: number;
  readonly updatedMs: number;
  /** All events of the file up to here are stored. `lines` includes empty lines. */
  readonly place: FilePlace;
  readonly lines: number;
  /** Events stored by all requests together. */
  readonly written: number;
  /** True when the end of the file was reached. Then nothing is left to do. */
  readonly isComplete: boolean;
  /**
   * A partly stored window after `place`: where it ends, and how many of its events are stored.
   * They are stored in the order of the window, stream by stream.
   */
  readonly window?: FilePlace & { readonly done: number };
}

/** An import as the API shows it. */
export interface ImportView {
  readonly import_id: string;
  readonly form: ImportForm;
  /** `running` includes an import that has stopped and may be run again: the two look the same. */
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

/** Whether the text may be the id of an import. */
export function isImportId(text: string): boolean {
  return IMPORT_ID.test(text);
}
