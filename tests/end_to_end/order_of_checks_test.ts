/**
 * The order of checks: a request with all faults from one step on is answered for that step.
 * Each row repairs one more fault than the row before it. See docs/reference/basics.md.
 */

import assert from "node:assert/strict";
import { withWorld, type World } from "./world.ts";
import { METADATA, noteBody } from "./world_spec.ts";

interface Fault {
  readonly step: string;
  readonly status: number;
  readonly error: RegExp;
  readonly method?: string;
  readonly path?: string;
  readonly token?: (world: World) => string | null;
  readonly contentType?: string;
  readonly body?: string;
  readonly key?: string;
}

/** Nine MiB that are not JSON either. */
const HUGE = "x".repeat(9 << 20);
const BAD_METADATA = JSON.stringify({ data: 1, metadata: { colour: 1, previous_length: 7 } });
const BAD_ACTOR = JSON.stringify({ data: 1, metadata: { actor: 1, previous_length: 7 } });

/** Each has the faults of the rows after it, and its own. */
const SINGLE: readonly Fault[] = [
  { step: "route", status: 404, error: /No such path/, path: "/_nowhere/x" },
  {
    step: "method",
    status: 405,
    error: /Method not allowed/,
    method: "PUT",
    path: "/parcel/nowhere/_x",
  },
  { step: "key (401)", status: 401, error: /API key/, token: () => null },
  { step: "key (403)", status: 403, error: /scope/, token: ({ keys }) => keys.test.read },
  { step: "content type", status: 400, error: /Content-Type/, contentType: "text/plain" },
  { step: "body size", status: 413, error: /exceeds 8388608 bytes/, body: HUGE },
  { step: "JSON", status: 400, error: /Malformed JSON/, body: "{" },
  {
    step: "idempotency header",
    status: 422,
    error: /cannot be empty/,
    key: "",
    body: BAD_METADATA,
  },
  { step: "ledger", status: 422, error: /reused with different/, key: "taken", body: BAD_METADATA },
  {
    step: "aggregate type",
    status: 404,
    error: /Aggregate type 'parcel'/,
    path: "/parcel/nowhere/_x",
    body: BAD_METADATA,
  },
  {
    step: "event type",
    status: 422,
    error: /beginning with '_'/,
    path: "/order/nowhere/_x",
    body: BAD_METADATA,
  },
  {
    step: "event type",
    status: 404,
    error: /Event type 'x' not found/,
    path: "/order/nowhere/x",
    body: BAD_METADATA,
  },
  {
    step: "key identifier",
    status: 422,
    error: /Identifier must be/,
    path: "/order/nowhere/was_placed",
    body: BAD_METADATA,
  },
  {
    step: "metadata",
    status: 422,
    error: /Unknown metadata field/,
    path: "/order/main/was_placed",
    body: BAD_METADATA,
  },
  {
    step: "metadata",
    status: 422,
    error: /metadata\.actor must be/,
    path: "/order/main/was_placed",
    body: BAD_ACTOR,
  },
  {
    step: "data",
    status: 400,
    error: /data must be an object/,
    path: "/order/main/was_placed",
    body: JSON.stringify({ data: 1, metadata: { ...METADATA, previous_length: 7 } }),
  },
  {
    step: "data",
    status: 413,
    error: /Event data exceeds 102400 bytes/,
    path: "/order/main/was_placed",
    body: JSON.stringify({
      data: { text: "x".repeat(102_400) },
      metadata: { ...METADATA, previous_length: 7 },
    }),
  },
  {
    step: "data",
    status: 422,
    error: /failed schema validation/,
    path: "/order/main/was_placed",
    body: JSON.stringify({ data: {}, metadata: { ...METADATA, previous_length: 7 } }),
  },
  {
    step: "OCC",
    status: 409,
    error: /Concurrent write detected/,
    path: "/order/main/was_placed",
    body: JSON.stringify({
      data: { customer: "A" },
      metadata: { ...METADATA, previous_length: 7 },
    }),
  },
];

for (const [index, fault] of SINGLE.entries()) {
  Deno.test(`the order of checks ${index + 1}: ${fault.step} answers before all that follows (${fault.status})`, () =>
    withWorld(async (world) => {
      await world.send("POST", "/note/global/was_written", {
        body: noteBody("a"),
        headers: { "x-idempotency-key": "taken" },
      });
      // The faults of the later rows, unless this row says otherwise.
      const later = SINGLE.slice(index + 1);
      const pick = <K extends keyof Fault>(name: K) =>
        fault[name] ?? (later.find((row) => row[name] !== undefined)?.[name]);
      const isBeforeKey = index <= SINGLE.findIndex(({ step }) => step === "ledger");
      const key = isBeforeKey ? pick("key") : undefined;
      const answer = await world.send(fault.method ?? "POST", String(pick("path")), {
        token: (fault.token ?? later.find(({ token }) => token)?.token)?.(world),
        body: pick("body"),
        headers: {
          "content-type": String(pick("contentType") ?? "application/json"),
          ...(key !== undefined && { "x-idempotency-key": String(key) }),
        },
      });
      assert.equal(answer.status, fault.status, answer.text);
      assert.match(answer.body.error, fault.error);
    }));
}

Deno.test("the order of checks: shape of the body comes after the ledger and is 400", () =>
  withWorld(async ({ send }) => {
    const body = { ...noteBody("a"), extra: 1 };
    const headers = { "x-idempotency-key": "free" };
    const answer = await send("POST", "/note/global/was_written", { body, headers });
    assert.deepEqual([answer.status, answer.body.path], [400, "extra"]);
  }));
