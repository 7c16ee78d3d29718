/**
 * A history: what concurrent clients requested, what they were answered, and when. Every
 * written value is unique, so the final streams show where each write landed.
 */

export interface Operation {
  readonly client: number;
  readonly asked: Asked;
  readonly heard: Heard;
  /** Moments of one counter that all clients share: the lower of two came first. */
  readonly invokedAt: number;
  /** Infinity if there was no answer. */
  readonly answeredAt: number;
}

export type Asked = Write | { readonly kind: "read"; readonly stream: string };

export interface Write {
  readonly kind: "write";
  /** Identifies what it writes: the same for a request and its repetitions. */
  readonly write: string;
  /** Repeated under one idempotency key. Without a key it is sent once. */
  readonly isKeyed: boolean;
  /** One for each stream; several form one atomic write. */
  readonly parts: readonly Part[];
}

export interface Part {
  readonly stream: string;
  readonly values: readonly string[];
  readonly expectedLength?: number;
}

export type Heard =
  /** Where the first value of each part is. */
  | { readonly kind: "written"; readonly first: readonly number[] }
  /** Nothing was written, because one of its streams had another length. */
  | { readonly kind: "conflict"; readonly stream: string; readonly length: number }
  /** Nothing was written this time. */
  | { readonly kind: "refused" }
  /** It may have been written or not. */
  | { readonly kind: "unknown" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "values"; readonly values: readonly string[] };

/** What each stream holds at the end. */
export type FinalStreams = ReadonlyMap<string, readonly string[]>;
