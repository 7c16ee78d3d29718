/** Keeps snapshots close to the heads of their streams, after deploys and as streams grow. */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

const IDLE_MS = 500;

export function snapshotWorker(service: Service): Worker {
  return {
    name: "snapshots",
    idleMs: IDLE_MS,
    drain: (limit, isStopping) => service.background.rebuildSnapshots(limit, isStopping),
  };
}
