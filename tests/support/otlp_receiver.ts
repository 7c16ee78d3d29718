/**
 * A receiver of OTLP over HTTP in JSON: keeps what a collector would get, as spans and as text.
 */

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: number;
  /** The instrumentation that made it: `deno` or `daybook`. */
  readonly scope: string;
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly spans: ReceivedSpan[];
  /** Every request body as it arrived. */
  readonly texts: string[];
  /** Environment variables for a process that sends here. */
  readonly env: Readonly<Record<string, string>>;
  /** Waits at most ten seconds for a span that fits. */
  waitFor(fits: (span: ReceivedSpan) => boolean): Promise<ReceivedSpan>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

const WAIT_MS_MAX = 10_000;

export function startOtlpReceiver(): OtlpReceiver {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const options = { hostname: "127.0.0.1", port: 0, onListen() {} };
  const server = Deno.serve(options, async (request) => {
    const text = await request.text();
    texts.push(text);
    if (new URL(request.url).pathname === "/v1/traces") spans.push(...spansOf(JSON.parse(text)));
    return new Response("{}", { headers: { "content-type": "application/json" } });
  });
  return {
    spans,
    texts,
    env: {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${server.addr.port}`,
      OTEL_BSP_SCHEDULE_DELAY: "50",
      OTEL_BLRP_SCHEDULE_DELAY: "50",
    },
    async waitFor(fits) {
      const until = performance.now() + WAIT_MS_MAX;
      while (performance.now() < until) {
        const found = spans.find(fits);
        if (found !== undefined) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error(`no such span among ${JSON.stringify(spans, null, 1)}`);
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

// deno-lint-ignore no-explicit-any -- what came over the wire
function spansOf(body: any): ReceivedSpan[] {
  const found: ReceivedSpan[] = [];
  for (const { scopeSpans } of body.resourceSpans) {
    for (const { scope, spans } of scopeSpans) {
      for (const { name, kind, traceId, spanId, parentSpanId, attributes, status } of spans) {
        const named = attributes.map(({ key, value }: Attribute) => [key, Object.values(value)[0]]);
        found.push({
          name,
          kind,
          traceId,
          spanId,
          parentSpanId,
          attributes: Object.fromEntries(named),
          status: status.code,
          scope: scope.name,
        });
      }
    }
  }
  return found;
}
