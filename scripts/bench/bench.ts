/** One run of the bench: where it is run, and the rows that it has made so far. */

import type { Row } from "./table.ts";

export interface Bench {
  /** In the order in which they were made. */
  readonly rows: readonly Row[];
  readonly add: (row: Row) => void;
  /** What a server is started with, so that it has a core of its own; empty where it has none. */
  readonly wrapper: readonly string[];
  /** A folder for stores, removed at the end. */
  readonly dataDir: string;
  readonly isQuick: boolean;
}

/** A run without rows. Each row is also told on standard error when it is made. */
export function openBench(place: Pick<Bench, "wrapper" | "dataDir" | "isQuick">): Bench {
  const rows: Row[] = [];
  function add(row: Row): void {
    rows.push(row);
    console.error(`  ${row.name}: ${row.value.toFixed(2)} ${row.unit}`);
  }
  return { ...place, rows, add };
}
