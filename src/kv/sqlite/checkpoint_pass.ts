/** What the worker of the checkpoints is asked for, and what it answers. */

export type PassRequest =
  /** Moves most of the WAL. */
  | "pass"
  /** Moves the rest while commits are held. */
  | "finish"
  /** Also keeps, in this file, the pages that are moved from now on; answered at once. */
  | { readonly keepMoved: string }
  /** Ends that with the next finishing pass that has moved everything. */
  | "seal"
  /** Ends that now; what was kept is of no use. */
  | "drop";

export type CheckpointAnswer =
  | PassAnswer
  /** The moved pages are kept, or why they cannot be. */
  | { readonly keeps: true | string };

/** How a pass ended. */
export type PassAnswer =
  /** Pages of the WAL that are in the database now. */
  | {
    readonly moved: number;
    /** Why their checksums could not be kept; see `page_notes.ts`. */
    readonly unnoted?: string;
    /** Set by the pass that ends the keeping of moved pages; a text says why they are useless. */
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
  /** The numbers of the kept pages, in order. */
  readonly moved: readonly number[];
}
