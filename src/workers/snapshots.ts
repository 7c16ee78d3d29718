/** Keeps snapshots near their heads: after a deploy, and for growing streams. */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function snapshotWorker(service: Service): Worker {
  return {
    name: "snapshots",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.background.rebuildSnapshots(limit, isStopping),
  };
}
