/** What operators see of one queue of background work. */

export interface QueueMeasure {
  /**
   * `lane`: lanes (one listener and one stream) with deliveries to make. `view`: commits that
   * projections do not show yet. `erasure`: streams that are being erased or are due for it.
   * `parked`: work that failed too often and is not tried again.
   */
  readonly queue: "outbox" | "timer" | "lane" | "view" | "erasure" | "parked";
  /** Entries that wait, counted up to a limit. Timers and erasures count only once they are due. */
  readonly depth: number;
  /** How long the oldest of the entries that were looked at has been due; 0 if none is. */
  readonly lagMs: number;
}
