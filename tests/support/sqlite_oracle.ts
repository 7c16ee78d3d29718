/** Runs statements on Python's SQLite: another version, with none of our code. */

import assert from "node:assert/strict";
import type { JsonValue } from "../../src/domain/json.ts";
import type { Statement } from "./sql_statements.ts";

const PROGRAM = new URL("sqlite_oracle.py", import.meta.url).pathname;

export interface OracleTable {
  readonly columns: readonly (readonly [name: string, type: string])[];
  readonly rows: readonly (readonly JsonValue[])[];
}

export type OracleAnswer =
  | { readonly error: string }
  | {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly JsonValue[])[];
    /** The answer has numbers that a JSON number cannot carry. */
    readonly isBeyondJson: boolean;
  };

/** Returns true and prints the reason if there is no Python, or none with SQLite. */
export async function missingSqlite(): Promise<boolean> {
  try {
    const args = ["-c", "import sqlite3"];
    const { success } = await new Deno.Command("python3", { args, stderr: "null" }).output();
    if (success) return false;
  } catch {
    // There is no such program.
  }
  console.log("the comparison with SQLite elsewhere was left out: no python3 with sqlite3");
  return true;
}

export async function askSqlite(
  tables: Readonly<Record<string, OracleTable>>,
  statements: readonly Statement[],
): Promise<OracleAnswer[]> {
  const asked = { tables, statements: statements.map(({ sql, params }) => [sql, params]) };
  const child = new Deno.Command("python3", {
    args: [PROGRAM],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const sent = writer.write(new TextEncoder().encode(JSON.stringify(asked)))
    .then(() => writer.close());
  const [{ success, stdout }] = await Promise.all([child.output(), sent]);
  assert.ok(success, "Python has answered");
  const { answers } = JSON.parse(new TextDecoder().decode(stdout)) as { answers: OracleAnswer[] };
  assert.equal(answers.length, statements.length);
  return answers;
}
