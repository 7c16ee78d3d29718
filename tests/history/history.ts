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
  /** Judged before all guards. */
  readonly preconditions?: readonly Bound[];
}

/** Holds while the stream has at most so many values. */
export interface Bound {
  readonly stream: string;
  readonly atMost: number;
}

export interface Part {
  readonly stream: string;
  readonly values: readonly string[];
  readonly expectedLength?: number;
  /** Guards of its first value: over its own stream, or over one that the write does not write. */
  readonly guards?: readonly Bound[];
}

export type Heard =
  /** Where the first value of each part is. */
  | { readonly kind: "written"; readonly first: readonly number[] }
  /** Nothing was written, because one of its streams had another length. */
  | { readonly kind: "conflict"; readonly stream: string; readonly length: number }
  /**
   * Nothing was written, because this bound did not hold; those before it did. They count from the
   * preconditions on, through the guards of each part.
   */
  | { readonly kind: "judged"; readonly failed: number }
  /** Nothing was written this time. */
  | { readonly kind: "refused" }
  /** It may have been written or not. */
  | { readonly kind: "unknown" }
  | { readonly kind: "length"; readonly length: number }
  | { readonly kind: "values"; readonly values: readonly string[] };

/** What each stream holds at the end. */
export type FinalStreams = ReadonlyMap<string, readonly string[]>;

/** All bounds of a write, in the order in which they are judged. */
export function boundsOf({ preconditions = [], parts }: Write): readonly Bound[] {
  return [...preconditions, ...parts.flatMap(({ guards = [] }) => guards)];
}
