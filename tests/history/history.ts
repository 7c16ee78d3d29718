/**
 * A history: what concurrent clients asked, what they heard and when. Every value that is written
 * is unique, so the final streams tell which write came where.
 */

export interface Operation {
  readonly client: number;
  readonly asked: Asked;
  readonly heard: Heard;
  /** Moments of one counter that all clients share: of two, the lower came first. */
  readonly invokedAt: number;
  /** Infinity where nothing was heard. */
  readonly answeredAt: number;
}

export type Asked = Write | { readonly kind: "read"; readonly stream: string };

export interface Write {
  readonly kind: "write";
  /** The name of what it writes: the same for a request and those that repeat it. */
  readonly write: string;
  /** Repeated under one idempotency key. Without one, it is sent once. */
  readonly isKeyed: boolean;
  /** One for each stream; several are one atomic write. */
  readonly parts: readonly Part[];
}

export interface Part {
  readonly stream: string;
  readonly values: readonly string[];
  readonly expectedLength?: number;
}

export type Heard =
  /** Where the first value of each part stands. */
  | { readonly kind: "written"; readonly first: readonly number[] }
  /** Nothing was written, for one of its streams had another length. */
  | { readonly kind: "conflict"; readonly stream: string; readonly length: number }
  /** Nothing was written now. */
  | { readonly kind: "refused" }
  /** It may have been written or not. */
  | { readonly kind: "unknown" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "values"; readonly values: readonly string[] };

/** What is in each stream when all is over. */
export type FinalStreams = ReadonlyMap<string, readonly string[]>;
