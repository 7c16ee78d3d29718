/**
 * Keeps projections up to date with what was written, and builds them. The two have separate
 * loops, because a long build must not delay the projections that are read.
 */

import type { Service } from "../features/service.ts";
import type { Worker } from "./worker.ts";

/** Covers what wakes no worker: shards of the log that were taken over. */
const IDLE_MS = 250;
/**
 * A drain costs as much as some dozen rows, so it pays to show many writes together. The added
 * delay goes unnoticed, and a write after a pause is not delayed at all.
 */
const GATHER_MS = 10;
/** Builds are polled for: being woken by every write would cost more. */
const BUILD_IDLE_MS = 100;

export function viewWorker(service: Service): Worker {
  const { projections } = service;
  return {
    name: "views",
    idleMs: IDLE_MS,
    gatherMs: GATHER_MS,
    drain: (limit, isStopping) => projections.keepViews(limit, isStopping),
    listen: (wake) => projections.followCommits(wake),
  };
}

export function viewBuildWorker(service: Service): Worker {
  const { projections } = service;
  return {
    name: "view builds",
    idleMs: BUILD_IDLE_MS,
    drain: (_limit, isStopping) => projections.buildViews(isStopping),
  };
}
