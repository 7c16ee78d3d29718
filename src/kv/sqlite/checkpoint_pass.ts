/** What the worker of the checkpoints is asked for, and what it answers. */

export type PassRequest =
  /** Moves most of the WAL. */
  | "pass"
  /** Moves the rest while commits are held. */
  | "finish"
  /** Notes which pages are moved from now on. */
  | "noteMoved"
  /** Tells which were moved since this was asked last, or since it began. */
  | "takeMoved"
  /** Ends that with the next finishing pass that has moved everything. */
  | "seal"
  /** Ends that now. */
  | "drop"
  /** Closes the connections. It is the last request. */
  | "end";

export type CheckpointAnswer =
  | PassAnswer
  /** The numbers of the moved pages, in order, or why they are not known. */
  | { readonly taken: Uint32Array | string }
  /** The connections are closed. */
  | { readonly isEnded: true };

/** How a pass ended. */
export type PassAnswer =
  /** Pages of the WAL that are in the database now. */
  | {
    readonly moved: number;
    /** Why their checksums could not be kept; see `page_notes.ts`. */
    readonly unnoted?: string;
    /** Set by the pass that ends the noting of moved pages; a text says why it is of no use. */
    readonly sealed?: SealedPages | string;
  }
  /** Nothing is lost: the WAL only grows, and the next pass tries again. */
  | { readonly failure: string }
  /** Pages were moved, and it is unknown whether they are on disk. */
  | { readonly unsynced: string };

/** The moment at which everything was in the database file, for a backup of it. */
export interface SealedPages {
  /** Of the last commit. */
  readonly version: number;
  /** The database has so many pages, of this size. */
  readonly pages: number;
  readonly pageBytes: number;
  /** The numbers of the pages that were moved since they were taken last, in order. */
  readonly moved: Uint32Array;
}
