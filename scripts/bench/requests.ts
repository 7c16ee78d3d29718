/** The requests of the bench as bytes, and the spec against which they are checked. */

/** One aggregate type; events of 256 bytes; handlers with the usual three operations. */
export const BENCH_SPEC = {
  agent_types: ["person"],
  aggregate_types: {
    account: {
      events: {
        was_credited: {
          schema: {
            type: "object",
            properties: {
              amount: { type: "integer", minimum: 0 },
              currency: { type: "string", enum: ["EUR", "USD"] },
              reference: { type: "string", minLength: 1, maxLength: 64 },
              booked_on: { type: "string", format: "date" },
              note: { type: "string" },
            },
            required: ["amount", "currency", "reference"],
            additionalProperties: false,
          },
          handler: [
            { increment: { target: "balance", by: "$.data.amount" } },
            { increment: { target: "bookings" } },
            {
              set: {
                target: "last",
                value: { at: "$.metadata.timestamp", by: "$.metadata.actor" },
              },
            },
          ],
        },
      },
    },
  },
};

export const EVENT_BYTES = 256;
export const METADATA = `{"actor":{"type":"person","id":"5b0e8f6c-3d1a-4c2b-9f7e-0a1b2c3d4e5f"}}`;
const encoder = new TextEncoder();

/** `data` of exactly 256 bytes of JSON. */
export function eventData(number: number): string {
  const start = `{"amount":${number % 1000},"currency":"EUR","reference":"order-${number}",` +
    `"booked_on":"2024-02-29","note":"`;
  return `${start}${"n".repeat(EVENT_BYTES - start.length - 2)}"}`;
}

/** A version 4 UUID for each number below 2^32. */
export function streamId(number: number): string {
  return `${number.toString(16).padStart(8, "0")}-0000-4000-8000-000000000000`;
}

/**
 * Builds requests with one API key. All text is ASCII, so that its length is its length in
 * bytes. Each write has its own idempotency key, unless `isKeyed` is false.
 */
export function requestBuilder(apiKey: string, { isKeyed = true } = {}) {
  const run = Math.floor(Math.random() * 2 ** 40).toString(36);
  const authorization = `host: 127.0.0.1\r\nauthorization: Bearer ${apiKey}\r\n`;
  let keys = 0;
  const nextKey = () => isKeyed ? `x-idempotency-key: ${run}-${keys++}\r\n` : "";
  const post = (path: string, length: number) =>
    `POST ${path} HTTP/1.1\r\n${authorization}content-type: application/json\r\n` +
    `${nextKey()}content-length: ${length}\r\n\r\n`;
  return {
    get: (path: string) => [encoder.encode(`GET ${path} HTTP/1.1\r\n${authorization}\r\n`)],
    /** A write of one event. */
    single(stream: string, number: number) {
      const body = `{"data":${eventData(number)},"metadata":${METADATA}}`;
      const head = post(`/account/${stream}/was_credited`, body.length);
      return [encoder.encode(head + body)];
    },
    /** A batch as two parts: its head, and a body from `batchBody`. */
    batch: (stream: string, body: Uint8Array) => [
      encoder.encode(post(`/account/${stream}`, body.length)),
      body,
    ],
    /** Any other write. */
    write: (path: string, body: string) => [encoder.encode(post(path, body.length) + body)],
  };
}

export type RequestBuilder = ReturnType<typeof requestBuilder>;

export function batchBody(count: number): Uint8Array {
  const events = Array.from(
    { length: count },
    (_, index) => `{"type":"was_credited","data":${eventData(index)}}`,
  );
  return encoder.encode(`{"events":[${events.join(",")}],"metadata":${METADATA}}`);
}
