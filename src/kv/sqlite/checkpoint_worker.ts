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
 *
 * For as long as a backup runs, a third connection does the same between the passes. Another
 * program could otherwise move pages and begin the WAL anew, and nobody would know which they were.
 */

import { DatabaseSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import type { CheckpointAnswer, PassAnswer, PassRequest, SealedPages } from "./checkpoint_pass.ts";
import { openPageNotes, type PageNote } from "./pages/page_notes.ts";
import { newPageSet, type PageSet } from "./pages/page_set.ts";
import type { StoreMoment } from "./pages/page_sums.ts";
import { prepareMoment } from "./store_row.ts";

const NOT_NOTED = "the thread that notes them was started anew";
const port = parentPort!;
const { path } = workerData as { path: string };
// Opened once and never closed: closing it would drop the locks that SQLite holds on the file in
// this process.
const file = Deno.openSync(path, { read: true, write: true });
const db = new DatabaseSync(path);
db.exec("PRAGMA cache_size = -1024");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
const reader = openReader();
const readMoment = prepareMoment(reader);
const holder = openReader();
const beginHold = prepareMoment(holder);
const readSize = reader.prepare(
  "SELECT page_count AS pages, page_size AS pageBytes FROM pragma_page_count, pragma_page_size",
);
/** The pages moved since a backup began or took them last; a text says why they are not known. */
let moved: PageSet | string = NOT_NOTED;
let isSealing = false;
/** Whether the WAL is to be held between passes. */
let isHolding = false;
const notes = openPageNotes(
  path,
  Deno.openSync(`${path}-wal`, { read: true }),
  (page) => {
    if (typeof moved !== "string") moved.add(page);
  },
);

function openReader(): DatabaseSync {
  const opened = new DatabaseSync(path, { readOnly: true });
  opened.exec("PRAGMA cache_size = -64");
  return opened;
}

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
    endReading(reader);
    note?.end();
  }
}

/** Lets SQLite move what it may. */
function move(): { readonly log: number; readonly checkpointed: number } {
  // It holds an older version, behind which SQLite would move nothing.
  endReading(holder);
  try {
    return checkpoint.get() as { log: number; checkpointed: number };
  } finally {
    if (isHolding) hold();
  }
}

/** Never throws: if the WAL cannot be held, it is unknown from then on what was moved. */
function hold(): void {
  if (holder.isTransaction) return;
  try {
    holder.exec("BEGIN");
    beginHold();
  } catch (error) {
    moved = `SQLite's log could not be held: ${error}`;
    endReading(holder);
  }
}

function endReading(connection: DatabaseSync): void {
  if (connection.isTransaction) connection.exec("COMMIT");
}

async function moveAndNote(
  note: PageNote,
  moment: StoreMoment,
  isFinishing: boolean,
): Promise<PassAnswer> {
  const { log, checkpointed } = move();
  // SQLite says -1 of both.
  if (log < 0) throw new Error("Another program is moving pages");
  note.note(checkpointed, checkpointed === log ? moment : undefined);
  if (note.failure !== undefined) moved = note.failure;
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
  const taken = takeMoved();
  moved = NOT_NOTED;
  isSealing = false;
  if (typeof taken === "string") return taken;
  const { pages, pageBytes } = readSize.get() as { pages: number; pageBytes: number };
  return { version, pages, pageBytes, moved: taken };
}

function takeMoved(): Uint32Array | string {
  if (typeof moved === "string") return moved;
  const taken = moved.numbers();
  moved = newPageSet();
  return taken;
}

function finish(): Promise<PassAnswer> {
  // SQLite need not sync: the pages of the database are synced below, and until then nothing may
  // restart the WAL.
  db.exec("PRAGMA synchronous = OFF");
  return pass(true);
}

async function answer(request: PassRequest): Promise<CheckpointAnswer | undefined> {
  switch (request) {
    case "finish":
      return await finish();
    case "pass":
      // Commits go on meanwhile, so SQLite must sync the pages that it moves before it counts them.
      db.exec("PRAGMA synchronous = FULL");
      return await pass(false);
    case "noteMoved":
      moved = newPageSet();
      isSealing = false;
      isHolding = true;
      hold();
      return { taken: takeMoved() };
    case "takeMoved":
      return { taken: takeMoved() };
    case "seal":
      return void (isSealing = true);
    case "drop":
      moved = NOT_NOTED;
      isHolding = false;
      endReading(holder);
      return void (isSealing = false);
    case "end":
      for (const connection of [db, reader, holder]) connection.close();
      return { isEnded: true };
  }
}

port.on("message", async (request: PassRequest) => {
  const answered = await answer(request);
  if (answered !== undefined) port.postMessage(answered);
});
