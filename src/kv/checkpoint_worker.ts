/**
 * Moves pages from the log to the database on a thread of its own: its fsyncs of a large database
 * take long and must not stop the thread that commits. Started by `checkpoints.ts`; each message
 * asks for one pass, each answer says how many frames of the log are moved now, or why none.
 *
 * A pass syncs the log and moves pages as SQLite does it, and then syncs the database, which SQLite
 * does only where nothing was committed meanwhile: what was moved would else be synced by the
 * finish, for which commits are held. That one leaves the log's sync out, for it was done, and the
 * database's to us, for `fdatasync` takes less than SQLite's `fsync`.
 *
 * What a pass has moved it also notes (`page_notes.ts`). Until that is on the disk it reads at the
 * version at which it began, on a connection of its own: so long SQLite moves nothing newer and
 * does not begin its log anew. Where all was moved before, that reader does not hold the log; but
 * then SQLite moves nothing beside it, and there is nothing to note.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { PassAnswer, PassRequest } from "./checkpoints.ts";
import { openPageNotes, type PageNote } from "./page_notes.ts";
import type { StoreMoment } from "./page_sums.ts";
import { prepareMoment } from "./store_row.ts";

const port = parentPort!;
const { path } = workerData as { path: string };
// Opened once and never closed: closing it would take away the locks that SQLite has on it here.
const file = Deno.openSync(path, { read: true, write: true });
const db = new DatabaseSync(path);
db.exec("PRAGMA cache_size = -1024");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
const reader = new DatabaseSync(path, { readOnly: true });
reader.exec("PRAGMA cache_size = -64");
const readMoment = prepareMoment(reader);
const notes = openPageNotes(path, Deno.openSync(`${path}-wal`, { read: true }));

async function pass(): Promise<PassAnswer> {
  let note: PageNote | undefined;
  try {
    reader.exec("BEGIN");
    const moment = readMoment();
    note = notes.begin();
    return await moveAndNote(note, moment);
  } catch (error) {
    return { failure: String(error) };
  } finally {
    if (reader.isTransaction) reader.exec("COMMIT");
    note?.end();
  }
}

async function moveAndNote(note: PageNote, moment: StoreMoment): Promise<PassAnswer> {
  const { log, checkpointed } = checkpoint.get() as { log: number; checkpointed: number };
  note.note(checkpointed, checkpointed === log ? moment : undefined);
  // Both on threads of the runtime, so that the disk may do them at once.
  const noting = note.sync();
  try {
    await file.syncData();
  } catch (error) {
    return { unsynced: String(error) };
  } finally {
    await noting;
  }
  return { moved: checkpointed, unnoted: note.failure };
}

function finish(): Promise<PassAnswer> {
  // Pages of the database are synced below; till then nobody may begin SQLite's log anew.
  db.exec("PRAGMA synchronous = OFF");
  return pass();
}

port.on("message", async (request: PassRequest) => {
  if (request === "finish") return port.postMessage(await finish());
  // SQLite must sync what it moves before it counts it, for commits go on meanwhile.
  db.exec("PRAGMA synchronous = FULL");
  port.postMessage(await pass());
});
