/**
 * The format of the file in which a node keeps a copy of an environment's projections for SQL.
 *
 * The store remains authoritative: a copy that is not as expected is created anew.
 */

import type { Column } from "../domain/projection/ready_projection.ts";
import { sqlTypeOf } from "../domain/projection/sql_value.ts";

/** Raise this with any change of the tables, or of how values are stored in them. */
export const COPY_FORMAT = 1;

/** No projection has one of these names: theirs begin with a letter. */
export const COPY_SCHEMA = `
  CREATE TABLE _about (owner TEXT NOT NULL) STRICT;
  CREATE TABLE _views (
    name TEXT PRIMARY KEY, number INTEGER NOT NULL, version INTEGER NOT NULL, stamp TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = ${COPY_FORMAT};
`;

/** Prefix of the name of a table that is being filled; it gets its own name at the end. */
export const FILLING = "_filling";

/**
 * The table is ordered by key and has no other index. A statement without ORDER BY therefore
 * returns the same on every node, whatever the history of its file. `key` is the id of the
 * aggregate.
 */
export function createTable(name: string, columns: readonly Column[]): string {
  const lines = columns.map(({ name: column, type }) => `"${column}" ${sqlTypeOf(type)}`);
  const all = ['"key" TEXT PRIMARY KEY NOT NULL', ...lines].join(", ");
  return `CREATE TABLE "${name}" (${all}) STRICT, WITHOUT ROWID`;
}
