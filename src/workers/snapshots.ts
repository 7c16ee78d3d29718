/** Keeps snapshots near their heads: after a deploy, for growing streams, and what reads folded. */

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
