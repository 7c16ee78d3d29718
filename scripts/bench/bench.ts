/** One run of the bench: the place where it runs, and the rows that it has made so far. */

import type { Row } from "./table.ts";

export interface Bench {
  /** In the order in which they were made. */
  readonly rows: readonly Row[];
  readonly add: (row: Row) => void;
  /** The command before a server's own that gives it a core; empty if it has none to itself. */
  readonly wrapper: readonly string[];
  /** A folder for stores; it is removed at the end. */
  readonly dataDir: string;
  readonly isQuick: boolean;
}

/** Begins a run without rows. Each row is also printed on standard error when it is made. */
export function openBench(place: Pick<Bench, "wrapper" | "dataDir" | "isQuick">): Bench {
  const rows: Row[] = [];
  function add(row: Row): void {
    rows.push(row);
    console.error(`  ${row.name}: ${row.value.toFixed(2)} ${row.unit}`);
  }
  return { ...place, rows, add };
}
