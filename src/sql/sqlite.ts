/**
 * Parts of the platform's SQLite that its declared types lack, and codes of SQLite's C
 * interface.
 *
 * The undeclared parts are the limits of a connection, the authorizer, rows as arrays, and the
 * text of a statement. The codes never change.
 */

import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Called for each action of a statement while it is prepared; returns OK or DENY. */
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

/** Error codes, without the details in their higher bits. */
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

/** The code of an SQLite error; undefined for an error of another kind. */
export function failureOf(error: unknown): number | undefined {
  const code = error instanceof Error && "errcode" in error ? error.errcode : undefined;
  return typeof code === "number" ? code & 0xff : undefined;
}
