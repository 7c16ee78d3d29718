/** What operators are told about SQL over views in one process. */

export interface SqlMeasure {
  /** Statements that run, and statements that wait for a process. */
  readonly running: number;
  readonly waiting: number;
  /** Environments with a copy, their tables, and tables that are being filled. */
  readonly copies: number;
  readonly tables: number;
  readonly filling: number;
}
