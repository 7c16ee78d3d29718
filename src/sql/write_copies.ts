/**
 * Carries out the requests to the process that writes copies.
 *
 * Each request leaves its file as it was, or in the state that was asked for. The process is
 * separate so that no request of a client waits for its disk.
 */

import type { Column } from "../domain/projection/ready_projection.ts";
import { sqlText, sqlValue } from "../domain/projection/sql_value.ts";
import type { JsonValue } from "../domain/json.ts";
import type { Frame } from "../runners/frame.ts";
import {
  type CopyFile,
  createTable,
  FILLING,
  listTables,
  openCopy,
  removeCopy,
  reopenCopy,
} from "./copy_file.ts";
import type { CopiedChanges, CopyRequest, CopyResult, CopyRow, CopyStep } from "./copy_messages.ts";
import { FAILURE, failureOf } from "./sqlite.ts";
import { parseJson } from "../domain/json_text/parse_json.ts";

export interface CopyKeeper {
  /** Never throws because of a disk or a file. */
  answer(request: Frame<CopyRequest>): CopyStep;
}

/** Maximum number of files that are open at once. */
const OPEN_FILES_MAX = 16;
const DAMAGED: ReadonlySet<number> = new Set([FAILURE.corrupt, FAILURE.notADatabase]);
const decoder = new TextDecoder();
const DONE: CopyResult = { kind: "done" };
const MORE: CopyStep = { kind: "more" };
/** A process that starts drops such tables, as it does those that were not filled. */
const HIDDEN = `${FILLING}_dropped`;
/** Rows of a hidden table that one request removes. */
const REMOVED_ROWS = 1_000;
const TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'";

export function newCopyKeeper(): CopyKeeper {
  /** Ordered by use: the file used last is the last entry. */
  const open = new Map<string, CopyFile>();

  function answer({ message, body }: Frame<CopyRequest>): CopyStep {
    try {
      return perform(message, body);
    } catch (error) {
      return afterFailure(message.path, error);
    }
  }

  function perform(message: CopyRequest, body: Uint8Array): CopyStep {
    const { path } = message;
    if (message.kind === "open") return openFile(path, message.owner, message.isFirst);
    if (message.kind === "remove") {
      closeFile(path);
      removeCopy(path);
      return DONE;
    }
    const file = open.get(path) ?? reopenCopy(path);
    if (file === undefined) return moved("there is no file");
    keepOpen(path, file);
    switch (message.kind) {
      case "begin_fill":
        file.transact(() =>
          file.database.exec(createTable(fillingName(message), message.projection.columns))
        );
        return DONE;
      case "fill":
        file.transact(() =>
          putRows(file, fillingName(message), message.projection.columns, rowsOf(body))
        );
        return DONE;
      case "end_fill":
        return endFill(file, message);
      case "apply":
        return apply(file, message, body);
      case "drop":
        file.forget();
        file.transact(() => message.names.forEach((name) => hideTable(file, name)));
        return removeHidden(file);
      case "tidy":
        if (!file.database.isTransaction) file.database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        return DONE;
    }
  }

  function openFile(path: string, owner: string, isFirst: boolean): CopyResult {
    // Closes an open file, too: another process may have removed or replaced it.
    closeFile(path);
    const file = openCopy(path, owner, isFirst);
    keepOpen(path, file);
    return { kind: "opened", tables: listTables(file) };
  }

  function closeFile(path: string): void {
    open.get(path)?.close();
    open.delete(path);
  }

  /** Marks the file as used last, and closes the one used longest ago to make room. */
  function keepOpen(path: string, file: CopyFile): void {
    open.delete(path);
    for (const [oldest, { database }] of open) {
      if (open.size < OPEN_FILES_MAX) break;
      if (!database.isTransaction) closeFile(oldest);
    }
    open.set(path, file);
  }

  function afterFailure(path: string, error: unknown): CopyResult {
    const reason = error instanceof Error ? error.message : "no reason given";
    const code = failureOf(error);
    try {
      closeFile(path);
      if (code !== undefined && DAMAGED.has(code)) {
        removeCopy(path);
        return moved(reason);
      }
    } catch {
      // If it cannot be closed or removed, the original failure says enough.
    }
    return { kind: "failed", reason };
  }

  return { answer };
}

function fillingName({ token }: { readonly token: string }): string {
  return `${FILLING}_${token}`;
}

function endFill(
  file: CopyFile,
  message: Extract<CopyRequest, { kind: "end_fill" }>,
): CopyStep {
  const { projection: { name, number, version }, stamp, rows } = message;
  const filling = fillingName(message);
  const found = file.database.prepare(`SELECT count(*) AS count FROM "${filling}"`).get()?.count;
  if (found !== rows) return moved(`the copy has ${found} of ${rows} rows`);
  file.forget();
  file.transact(() => {
    hideTable(file, name);
    file.database.exec(`ALTER TABLE "${filling}" RENAME TO "${name}"`);
    const insert = "INSERT INTO _views (name, number, version, stamp) VALUES (?, ?, ?, ?)";
    file.prepare(insert).run(name, number, version, stamp);
  });
  return removeHidden(file);
}

/**
 * Takes a table away from queries. Its rows are removed a portion at a time, because every page is
 * overwritten: that takes seconds for a large table, and copies of others wait.
 */
function hideTable(file: CopyFile, name: string): void {
  file.prepare("DELETE FROM _views WHERE name = ?").run(name);
  if (file.prepare(`${TABLES} AND name = ?`).get(name) === undefined) return;
  const hidden = new Set(hiddenTables(file));
  let number = 0;
  while (hidden.has(`${HIDDEN}_${number}`)) number++;
  file.database.exec(`ALTER TABLE "${name}" RENAME TO "${HIDDEN}_${number}"`);
}

function hiddenTables(file: CopyFile): string[] {
  const names = file.prepare(TABLES).all().map(({ name }) => String(name));
  return names.filter((name) => name.startsWith(HIDDEN));
}

/** Removes the next rows of hidden tables; `more` if that was not all. */
function removeHidden(file: CopyFile): CopyStep {
  const [name, ...others] = hiddenTables(file);
  if (name === undefined) return DONE;
  const some = `DELETE FROM "${name}" WHERE "key" IN ` +
    `(SELECT "key" FROM "${name}" LIMIT ${REMOVED_ROWS})`;
  file.forget();
  const { changes } = file.database.prepare(some).run();
  if (changes === REMOVED_ROWS) return MORE;
  file.database.exec(`DROP TABLE "${name}"`);
  return others.length > 0 ? MORE : DONE;
}

function apply(
  file: CopyFile,
  { changes, isFirst, isLast }: Extract<CopyRequest, { kind: "apply" }>,
  body: Uint8Array,
): CopyResult {
  const { database } = file;
  if (isFirst === database.isTransaction) {
    if (database.isTransaction) database.exec("ROLLBACK");
    return moved("another transaction was open, or none");
  }
  if (isFirst) database.exec("BEGIN IMMEDIATE");
  const rows = parseJson(decoder.decode(body)) as CopyRow[][];
  for (const [index, change] of changes.entries()) {
    if (applyTo(file, change, rows[index]!)) continue;
    database.exec("ROLLBACK");
    return moved(`the table of ${change.projection.name} is not where the changes begin`);
  }
  if (isLast) database.exec("COMMIT");
  return DONE;
}

/** False if the table is not the one that the changes are for. */
function applyTo(file: CopyFile, change: CopiedChanges, rows: readonly CopyRow[]): boolean {
  const { projection: { name, number, version, columns }, from, to, removed } = change;
  const move = "UPDATE _views SET stamp = ? WHERE name = ? AND number = ? AND version = ? " +
    "AND stamp = ?";
  if (file.prepare(move).run(to, name, number, version, from).changes !== 1) return false;
  const remove = file.prepare(`DELETE FROM "${name}" WHERE "key" = ?`);
  for (const key of removed) remove.run(key);
  putRows(file, name, columns, rows);
  return true;
}

function putRows(
  file: CopyFile,
  table: string,
  columns: readonly Column[],
  rows: readonly CopyRow[],
): void {
  const places = `?${", ?".repeat(columns.length)}`;
  const put = file.prepare(`INSERT OR REPLACE INTO "${table}" VALUES (${places})`);
  for (const [key, data] of rows) {
    const values = columns.map(({ name, type }) => sqlValue(data[name] as JsonValue ?? null, type));
    put.run(sqlText(key), ...values);
  }
}

function rowsOf(body: Uint8Array): CopyRow[] {
  return parseJson(decoder.decode(body));
}

function moved(reason: string): CopyResult {
  return { kind: "moved", reason };
}
