/** Makes anchors at their interval, if something has changed. See docs/reference/audit.md. */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

/** How often it checks whether an anchor is due. */
const IDLE_MS_MAX = 10_000;
const MS_PER_SECOND = 1000;

export function anchorWorker(service: Service, intervalSeconds: number): Worker {
  const intervalMs = intervalSeconds * MS_PER_SECOND;
  return {
    name: "anchors",
    idleMs: Math.min(intervalMs, IDLE_MS_MAX),
    drain: (_limit, isStopping) => service.audit.makeDueAnchors(intervalMs, isStopping),
  };
}
