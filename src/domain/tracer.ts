/**
 * Spans of distributed traces, as the rest of the product makes them. The real one is
 * `telemetry.ts`; where nobody traces there is none, and nothing is done for it. No attribute holds
 * data, a credential or a URL that a user chose.
 */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface Tracer {
  /** Says what the request under way is: its route and id, beside what the runtime knows. */
  nameRequest(method: string, route: string | undefined, requestId: string): void;
  /** Runs `work` as a part of what is under way. `describe` tells of its result. */
  span<T>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<T>,
    describe?: (result: T) => SpanAttributes,
  ): Promise<T>;
  /**
   * As {@link span}, for a request to somebody else that follows from `cause`, which may have been
   * in another process and long ago; `work` gets the `traceparent` to send along.
   */
  outgoing<T>(
    name: string,
    attributes: SpanAttributes,
    cause: string | undefined,
    work: (traceparent: string) => Promise<T>,
    describe: (result: T) => SpanAttributes,
  ): Promise<T>;
  /** What is under way, as `traceparent` (W3C Trace Context); undefined where nothing is. */
  traceparent(): string | undefined;
}
