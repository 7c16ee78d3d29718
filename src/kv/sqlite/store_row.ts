/** The row of facts that a store keeps about itself, such as its moment and its redo log. */

import type { DatabaseSync } from "node:sqlite";
import type { Bytes } from "../engine.ts";
import type { StoreMoment } from "./pages/page_sums.ts";
import { REDO_ID_BYTES } from "./redo_log.ts";
import type { SqliteLog } from "./wal.ts";

/** The returned function throws if the row is not one that a store can have. */
export function prepareMoment(db: DatabaseSync): () => StoreMoment {
  const facts = "version, version_again, redo, schema_version AS schema";
  const read = db.prepare(`SELECT ${facts} FROM store, pragma_schema_version`);
  return () => {
    const { version, version_again, redo, schema } = read.get() ?? {};
    if (typeof version === "number" && version === version_again && typeof schema === "number") {
      return { version, redo: redo as Bytes | null, schema };
    }
    throw new Error("The store does not say of what version it is: run fsck on it");
  };
}

/** The name of the redo log that belongs to a store, which is the log's id. */
export interface RedoName {
  read(): Bytes | undefined;
  /** Ends a SQLite transaction. Null: no log belongs to the store. */
  write(id: Bytes | null): void;
  /** An id for a new log. */
  draw(): Bytes;
}

export function prepareRedoName(db: DatabaseSync, log: SqliteLog): RedoName {
  const read = db.prepare("SELECT redo FROM store");
  const write = db.prepare("UPDATE store SET redo = ?");
  const draw = db.prepare(`SELECT randomblob(${REDO_ID_BYTES}) AS id`);
  return {
    read: () => (read.get() as { redo: Bytes | null }).redo ?? undefined,
    write(id) {
      if (!log.isOpen) log.startWriting();
      write.run(id);
      log.endWriting();
    },
    draw: () => (draw.get() as { id: Bytes }).id,
  };
}
