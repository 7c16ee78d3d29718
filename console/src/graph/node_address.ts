/** Where a node of the graph leads to. */

import { hrefOf } from "../shell/router.ts";
import type { GraphNode } from "./effects_graph.ts";

/** Undefined for what has no view of its own. */
export function hrefOfNode({ place, sagaId, kind, title, state }: GraphNode): string | undefined {
  if (place !== undefined) {
    const at = place.key.indexOf(":");
    const path = ["streams", place.key.slice(0, at), place.key.slice(at + 1)];
    return hrefOf(path, { event: Number(place.stream_id), view: "causes" });
  }
  if (sagaId !== undefined && kind === "saga") return hrefOf(["reactions", "sagas", sagaId]);
  if (kind === "delivery") return hrefOf(["reactions", "listeners", title], { state });
  return undefined;
}
