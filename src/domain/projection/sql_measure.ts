/** The figures that operators see about SQL over projections in one process. */

export interface SqlMeasure {
  /** Statements that are running, and statements that wait for a process. */
  readonly running: number;
  readonly waiting: number;
  /** Environments that have a copy, the tables in them, and the tables being filled. */
  readonly copies: number;
  readonly tables: number;
  readonly filling: number;
}
