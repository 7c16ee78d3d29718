/** A listener as a spec declares it under `modules.listeners`. See docs/reference/listeners.md. */

export interface Listener {
  readonly name: string;
  /** Absolute, `http:` or `https:`, without user and fragment, in the URL standard's spelling. */
  readonly url: string;
  /** Must never be logged, shown or put into an error. */
  readonly secret: string;
  /** Event patterns, as declared. */
  readonly events: readonly string[];
  readonly enabled: boolean;
}
