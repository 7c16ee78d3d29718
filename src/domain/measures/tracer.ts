/**
 * Distributed tracing as the rest of the product uses it.
 *
 * `telemetry.ts` implements it. Without tracing there is no tracer, and spans cost nothing.
 * Attributes must not contain data, credentials or URLs that a user chose.
 */

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface OutgoingRequest<T> {
  readonly attributes: SpanAttributes;
  /** What it follows from, as `traceparent`; that may lie in another process and long ago. */
  readonly cause: string | undefined;
  readonly describe: (result: T) => SpanAttributes;
}

export interface Tracer {
  /** Adds the route and id to the span of the current request, which the runtime has begun. */
  nameRequest(method: string, route: string | undefined, requestId: string): void;
  /**
   * Runs `work` in a child span of the current one. `describe` turns its result into
   * attributes.
   */
  span<T>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<T>,
    describe?: (result: T) => SpanAttributes,
  ): Promise<T>;
  /** Like {@link span}, for an outgoing request. `work` gets the `traceparent` to send along. */
  outgoing<T>(
    name: string,
    request: OutgoingRequest<T>,
    work: (traceparent: string) => Promise<T>,
  ): Promise<T>;
  /** The current span as `traceparent` (W3C Trace Context); undefined when there is none. */
  traceparent(): string | undefined;
}
