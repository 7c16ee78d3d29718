/**
 * Traces through the runtime's own OpenTelemetry (`OTEL_DENO=true`, settings `OTEL_*`). The
 * runtime begins a span for each request under the caller's `traceparent`, and exports all
 * spans. This file adds the spans within a request. See docs/reference/monitoring.md.
 */

import {
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { SpanAttributes, Tracer } from "./domain/measures/tracer.ts";

/** W3C Trace Context, version 00. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;

/** Call once, if the runtime traces. */
export function openTelemetry(): Tracer {
  const tracer = trace.getTracer("daybook");

  /** Ends the span when the work ends, whether it succeeds or fails. */
  async function endWith<T>(
    span: Span,
    work: Promise<T>,
    describe?: (result: T) => SpanAttributes,
  ): Promise<T> {
    try {
      const result = await work;
      if (describe !== undefined) span.setAttributes(describe(result));
      return result;
    } catch (error) {
      // Only the name is recorded: the message may hold request data.
      span.setAttribute("error.type", error instanceof Error ? error.name : "unknown");
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  return {
    nameRequest(method, route, requestId) {
      const span = trace.getActiveSpan();
      span?.updateName(route === undefined ? method : `${method} ${route}`);
      span?.setAttributes({
        ...(route !== undefined && { "http.route": route }),
        "daybook.request_id": requestId,
      });
    },
    span(name, attributes, work, describe) {
      return tracer.startActiveSpan(
        name,
        { attributes },
        (span) => endWith(span, work(), describe),
      );
    },
    outgoing(name, { attributes, cause, describe }, work) {
      const parent = contextOf(cause && parseTraceparent(cause));
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent);
      const traceparent = writeTraceparent(span.spanContext());
      const own = trace.setSpan(parent, span);
      return context.with(own, () => endWith(span, work(traceparent), describe));
    },
    traceparent() {
      const span = trace.getActiveSpan();
      return span && writeTraceparent(span.spanContext());
    },
  };
}

/** The root if there is no span: the active span has nothing to do with this work. */
function contextOf(span: SpanContext | undefined | ""): Context {
  return span ? trace.setSpan(ROOT_CONTEXT, trace.wrapSpanContext(span)) : ROOT_CONTEXT;
}

function writeTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags & SAMPLED ? "01" : "00"}`;
}

function parseTraceparent(text: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
}
