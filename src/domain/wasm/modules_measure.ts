/** What operators see of WebAssembly calls under way in one process. */

export interface ModulesMeasure {
  /** Processes that run modules. */
  readonly runners: number;
  readonly running: number;
  readonly waiting: number;
}
