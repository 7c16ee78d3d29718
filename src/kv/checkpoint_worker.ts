/**
 * Moves pages from the log to the database on a thread of its own: its fsyncs of a large database
 * take long and must not stop the thread that commits. Started by `checkpoints.ts`; each message
 * asks for one pass, each answer says how many frames of the log are moved now, or why none.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

const port = parentPort!;
const db = new DatabaseSync((workerData as { path: string }).path);
db.exec("PRAGMA synchronous = FULL; PRAGMA cache_size = -1024");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");

port.on("message", () => {
  try {
    port.postMessage({ moved: (checkpoint.get() as { checkpointed: number }).checkpointed });
  } catch (error) {
    port.postMessage({ failure: String(error) });
  }
});
