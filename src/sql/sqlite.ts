/**
 * What the SQLite of the platform has beyond its declared types, checked when it is used: limits of
 * a connection, the authorizer, rows as arrays. Here too: the codes of SQLite's C interface, which
 * never change.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Asked for each thing that a statement does while it is prepared; gives OK or DENY. */
export type Authorizer = (
  action: number,
  first: string | null,
  second: string | null,
) => number;

export const VERDICT = { ok: 0, deny: 1 } as const;

export const ACTION = {
  pragma: 19,
  read: 20,
  select: 21,
  transaction: 22,
  attach: 24,
  detach: 25,
  function: 31,
  savepoint: 32,
  recursive: 33,
} as const;

/** Codes of errors, without the details in their higher bits. */
export const FAILURE = {
  noMemory: 7,
  readOnly: 8,
  diskError: 10,
  corrupt: 11,
  diskFull: 13,
  cannotOpen: 14,
  schemaChanged: 17,
  tooBig: 18,
  notAuthorized: 23,
  notADatabase: 26,
} as const;

/** Bytes, or counts. */
export interface SqliteLimits {
  readonly length?: number;
  readonly sqlLength?: number;
  readonly attach?: number;
}

export interface ReadingDatabase extends DatabaseSync {
  setAuthorizer(authorizer: Authorizer | null): void;
}

export interface ArrayStatement extends StatementSync {
  setReturnArrays(isOn: boolean): void;
  /** The part of the text that is this statement. */
  readonly sourceSQL: string;
}

export function openForReading(path: string, limits: SqliteLimits): ReadingDatabase {
  return new DatabaseSync(path, { readOnly: true, limits } as object) as ReadingDatabase;
}

/** The code of an error of SQLite; undefined for one of another kind. */
export function failureOf(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
