/** Keys of streams, as the server gives them. */

import { splitStreamKey, type StreamKey } from "../../../src/domain/identifier.ts";

/** Type and id of a key, for which the server has the canonical form. */
export function halvesOf(key: string): { readonly type: string; readonly id: string } {
  return splitStreamKey(key as StreamKey);
}
