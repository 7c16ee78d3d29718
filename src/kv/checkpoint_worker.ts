/**
 * Moves pages from the log to the database on a thread of its own: its fsyncs of a large database
 * take long and must not stop the thread that commits. Started by `checkpoints.ts`; each message
 * asks for one pass, each answer says how many frames of the log are moved now, or why none.
 *
 * A pass syncs the log and moves pages as SQLite does it, and then syncs the database, which SQLite
 * does only where nothing was committed meanwhile: what was moved would else be synced by the
 * finish, for which commits are held. That one leaves the log's sync out, for it was done, and the
 * database's to us, for `fdatasync` takes less than SQLite's `fsync`.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { PassAnswer, PassRequest } from "./checkpoints.ts";

const port = parentPort!;
const { path } = workerData as { path: string };
// Opened once and never closed: closing it would take away the locks that SQLite has on it here.
const file = Deno.openSync(path, { read: true, write: true });
const db = new DatabaseSync(path);
db.exec("PRAGMA cache_size = -1024");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");

function pass(): PassAnswer {
  let moved: number;
  try {
    moved = (checkpoint.get() as { checkpointed: number }).checkpointed;
  } catch (error) {
    return { failure: String(error) };
  }
  try {
    file.syncDataSync();
    return { moved };
  } catch (error) {
    return { unsynced: String(error) };
  }
}

function finish(): PassAnswer {
  // Pages of the database are synced below; till then nobody may begin SQLite's log anew.
  db.exec("PRAGMA synchronous = OFF");
  return pass();
}

port.on("message", (request: PassRequest) => {
  if (request === "finish") return port.postMessage(finish());
  // SQLite must sync what it moves before it counts it, for commits go on meanwhile.
  db.exec("PRAGMA synchronous = FULL");
  port.postMessage(pass());
});
