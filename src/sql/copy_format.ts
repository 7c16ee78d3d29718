/**
 * The file with the copy of an environment's views, which a node keeps for SQL: never the truth,
 * made anew whenever it is not as it must be.
 */

import type { Column } from "../domain/projection/view.ts";
import { sqlTypeOf } from "../domain/projection/sql_value.ts";

/** To be raised with any change of the tables, or of how values stand in them. */
export const COPY_FORMAT = 1;

/** Names that no projection has: theirs begin with a letter. */
export const COPY_SCHEMA = `
  CREATE TABLE _about (owner TEXT NOT NULL) STRICT;
  CREATE TABLE _views (
    name TEXT PRIMARY KEY, number INTEGER NOT NULL, version INTEGER NOT NULL, stamp TEXT NOT NULL
  ) STRICT;
  PRAGMA user_version = ${COPY_FORMAT};
`;

/** The table that is being filled, until it takes its name. */
export const FILLING = "_filling";

/**
 * Ordered by key, and nothing else: so that a statement without an order gives the same on every
 * node, whatever its history. `key` is the id of the aggregate.
 */
export function createTable(name: string, columns: readonly Column[]): string {
  const lines = columns.map(({ name: column, type }) => `"${column}" ${sqlTypeOf(type)}`);
  const all = ['"key" TEXT PRIMARY KEY NOT NULL', ...lines].join(", ");
  return `CREATE TABLE "${name}" (${all}) STRICT, WITHOUT ROWID`;
}
