/** What operators are told about one queue of background work. */

export interface QueueMeasure {
  /**
   * `lane`: streams of which a listener is to be told. `view`: commits that views do not show yet.
   * `erasure`: streams that are being erased, or are to be by now. `parked` is what was tried in
   * vain: nobody tries it again.
   */
  readonly queue: "outbox" | "timer" | "lane" | "view" | "erasure" | "parked";
  /** What waits and is due, as far as it was counted. */
  readonly depth: number;
  /** How long the oldest of it that was looked at has been due; 0 where nothing is. */
  readonly lagMs: number;
}
