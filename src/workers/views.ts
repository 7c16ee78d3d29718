/**
 * Keeps views up to date with what was written, and builds them. Two loops: a long build must not
 * keep those waiting that are read.
 */

import type { Service } from "../service.ts";
import type { Worker } from "./worker.ts";

/** What nobody wakes it for: parts of the log that were taken over. */
const IDLE_MS = 250;
/**
 * A drain costs as much as some dozen rows, so that many writes are better shown together. It adds
 * to the lag what nobody notices, and nothing to that of a write after a pause.
 */
const GATHER_MS = 10;
/** Builds are looked for: being woken by every write would cost more. */
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
