/** What a spec declares under `modules.listeners`. Decisions, section 14. */

export interface Listener {
  readonly name: string;
  /** Absolute, `http:` or `https:`, without user and fragment, as the URL standard spells it. */
  readonly url: string;
  /** Never logged, never shown, never in an error. */
  readonly secret: string;
  /** Patterns, as declared. */
  readonly events: readonly string[];
  readonly enabled: boolean;
}
