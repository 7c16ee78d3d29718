/**
 * How clients reach the product: through its service, or as JSON through its HTTP application.
 * What the clients do and how they are judged is the same.
 */

import type { WriteRequest } from "../../src/domain/write/write.ts";
import type { Node } from "./node.ts";

/** What a client was answered. */
export type Reply<T> =
  | { readonly ok: true; readonly value: T }
  /** `isBusy`: another request with its key is still running, so nothing is decided yet. */
  | { readonly ok: false; readonly isBusy: boolean };

/** What the reply to a write says about it. */
export interface Told {
  readonly places: readonly { readonly key: string; readonly first: number }[];
  /** Undefined if this kind of reply does not say. */
  readonly impliedCount: number | undefined;
  readonly replayed: boolean;
}

/** Thrown if there is no reply: the operation may have happened, or may still happen. */
export class NothingHeard extends Error {
  override readonly name = "NothingHeard";
}

/** Each call throws whatever the layer below throws, and {@link NothingHeard}. */
export interface Entrance {
  write(node: Node, request: WriteRequest): Promise<Reply<Told>>;
  /** The ids of scheduled events. */
  listScheduled(node: Node): Promise<readonly string[]>;
  cancelScheduled(node: Node, id: string): Promise<Reply<undefined>>;
}
