/** What the worker of the checkpoints is asked for, and what it answers. */

/** A pass moves most of the WAL; the finishing pass moves the rest while commits are held. */
export type PassRequest = "pass" | "finish";

/** How a pass ended. */
export type PassAnswer =
  /** Pages of the WAL that are in the database now. */
  | {
    readonly moved: number;
    /** Why their checksums could not be kept; see `page_notes.ts`. */
    readonly unnoted?: string;
  }
  /** Nothing is lost: the WAL only grows, and the next pass tries again. */
  | { readonly failure: string }
  /** Pages were moved, and it is unknown whether they are on disk. */
  | { readonly unsynced: string };
