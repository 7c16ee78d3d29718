/**
 * How clients come into the product: straight through its service, or through its HTTP application,
 * as JSON. What they do and how they are judged is the same.
 */

import type { WriteRequest } from "../../src/domain/write/write.ts";
import type { Node } from "./node.ts";

/** What a client was told. */
export type Reply<T> =
  | { readonly ok: true; readonly value: T }
  /** `isBusy`: its key is still being worked on, so nothing is decided yet. */
  | { readonly ok: false; readonly isBusy: boolean };

/** What the reply to a write says of it. */
export interface Told {
  readonly places: readonly { readonly key: string; readonly first: number }[];
  /** Undefined where replies of its kind do not tell. */
  readonly impliedCount: number | undefined;
  readonly replayed: boolean;
}

/** What was asked may have happened, or may still happen: no reply tells. */
export class NothingHeard extends Error {
  override readonly name = "NothingHeard";
}

/** Each call throws what is thrown below, and {@link NothingHeard}. */
export interface Entrance {
  write(node: Node, request: WriteRequest): Promise<Reply<Told>>;
  /** The ids of scheduled events. */
  listScheduled(node: Node): Promise<readonly string[]>;
  cancelScheduled(node: Node, id: string): Promise<Reply<undefined>>;
}
