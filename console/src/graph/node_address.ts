/** Where a node of the graph leads to. */

import { hrefOf } from "../shell/router.ts";
import { halvesOf } from "../shell/stream_key.ts";
import type { GraphNode } from "./effects_graph.ts";

/** Undefined for what has no view of its own. */
export function hrefOfNode({ place, sagaId, kind, title, state }: GraphNode): string | undefined {
  if (place !== undefined) {
    const { type, id } = halvesOf(place.key);
    return hrefOf(["streams", type, id], { event: Number(place.stream_id), view: "causes" });
  }
  if (sagaId !== undefined && kind === "saga") return hrefOf(["reactions", "sagas", sagaId]);
  if (kind === "delivery") return hrefOf(["reactions", "listeners", title], { state });
  return undefined;
}
