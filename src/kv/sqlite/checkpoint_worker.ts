/**
 * Moves pages from the WAL to the database on a thread of its own. The fsyncs of a large
 * database take long and must not block the thread that commits. `checkpoints.ts` starts this
 * worker. Each message asks for one pass; each answer says how many frames of the WAL are in the
 * database now, or why none are.
 *
 * A pass syncs the WAL and moves pages as SQLite does, and then syncs the database. SQLite alone
 * syncs the database only if nothing was committed meanwhile. Otherwise the moved pages would be
 * synced by the finishing pass, during which commits are held. The finishing pass skips the sync
 * of the WAL, which is already done, and leaves the sync of the database to this file, because
 * `fdatasync` is cheaper than SQLite's `fsync`.
 *
 * A pass also notes what it has moved (`page_notes.ts`). Until the notes are on disk, a second
 * connection holds a read transaction at the version at which the pass began. While it is open,
 * SQLite moves nothing newer and does not restart the WAL. If everything had been moved before,
 * that reader does not hold the WAL; but then SQLite moves nothing beside it, and there is
 * nothing to note.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { type MovedPages, openMovedPages } from "./backup/moved_pages.ts";
import type { CheckpointAnswer, PassAnswer, PassRequest, SealedPages } from "./checkpoint_pass.ts";
import { openPageNotes, type PageNote } from "./pages/page_notes.ts";
import type { StoreMoment } from "./pages/page_sums.ts";
import { prepareMoment } from "./store_row.ts";

const port = parentPort!;
const { path } = workerData as { path: string };
// Opened once and never closed: closing it would drop the locks that SQLite holds on the file in
// this process.
const file = Deno.openSync(path, { read: true, write: true });
const db = new DatabaseSync(path);
db.exec("PRAGMA cache_size = -1024");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
const reader = new DatabaseSync(path, { readOnly: true });
reader.exec("PRAGMA cache_size = -64");
const readMoment = prepareMoment(reader);
const readSize = reader.prepare(
  "SELECT page_count AS pages, page_size AS pageBytes FROM pragma_page_count, pragma_page_size",
);
/** For a backup that is under way. */
let kept: MovedPages | undefined;
let isSealing = false;
const notes = openPageNotes(
  path,
  Deno.openSync(`${path}-wal`, { read: true }),
  (page, bytes) => kept?.keep(page, bytes),
);

async function pass(isFinishing: boolean): Promise<PassAnswer> {
  let note: PageNote | undefined;
  try {
    reader.exec("BEGIN");
    const moment = readMoment();
    note = notes.begin();
    return await moveAndNote(note, moment, isFinishing);
  } catch (error) {
    return { failure: String(error) };
  } finally {
    if (reader.isTransaction) reader.exec("COMMIT");
    note?.end();
  }
}

async function moveAndNote(
  note: PageNote,
  moment: StoreMoment,
  isFinishing: boolean,
): Promise<PassAnswer> {
  const { log, checkpointed } = checkpoint.get() as { log: number; checkpointed: number };
  note.note(checkpointed, checkpointed === log ? moment : undefined);
  if (note.failure !== undefined) kept?.fail(note.failure);
  const sealed = isFinishing && isSealing && checkpointed === log ? seal(moment) : undefined;
  // Both syncs run on threads of the runtime, so the disk may do them at the same time.
  const noting = note.sync();
  try {
    await file.syncData();
  } catch (error) {
    return { unsynced: String(error) };
  } finally {
    await noting;
  }
  return { moved: checkpointed, unnoted: note.failure, sealed };
}

/** Commits are held, so everything is in the database file. */
function seal({ version }: StoreMoment): SealedPages | string {
  const moved = kept?.seal() ?? "the thread that keeps them was started anew";
  kept = undefined;
  isSealing = false;
  if (typeof moved === "string") return moved;
  const { pages, pageBytes } = readSize.get() as { pages: number; pageBytes: number };
  return { version, pages, pageBytes, moved };
}

function drop(): undefined {
  kept?.seal();
  kept = undefined;
  isSealing = false;
}

function keepMoved(file: string): CheckpointAnswer {
  try {
    drop();
    kept = openMovedPages(file);
    return { keeps: true };
  } catch (error) {
    return { keeps: String(error) };
  }
}

function finish(): Promise<PassAnswer> {
  // SQLite need not sync: the pages of the database are synced below, and until then nothing may
  // restart the WAL.
  db.exec("PRAGMA synchronous = OFF");
  return pass(true);
}

async function answer(request: PassRequest): Promise<CheckpointAnswer | undefined> {
  if (request === "seal") return void (isSealing = true);
  if (request === "drop") return drop();
  if (request === "finish") return await finish();
  if (request !== "pass") return keepMoved(request.keepMoved);
  // Commits go on meanwhile, so SQLite must sync the pages that it moves before it counts them.
  db.exec("PRAGMA synchronous = FULL");
  return await pass(false);
}

port.on("message", async (request: PassRequest) => {
  const answered = await answer(request);
  if (answered !== undefined) port.postMessage(answered);
});
