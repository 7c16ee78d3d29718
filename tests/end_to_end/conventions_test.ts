/**
 * CORS, methods, content types, paths, request ids, body faults. See docs/reference/basics.md
 * and docs/reference/errors.md.
 */

import assert from "node:assert/strict";
import { type Case, refusal, sendStep, testCases } from "./cases.ts";
import { withWorld } from "./world.ts";
import { ACTOR, noteBody, uuid } from "./world_spec.ts";

const CALL = "POST /note/global/was_written";

const METHODS: readonly (readonly [call: string, allow: string])[] = [
  ["POST /note", "GET"],
  ["POST /note/global/length", "GET"],
  ["POST /note/global/events", "GET"],
  ["PUT /note/global/length", "GET"],
  ["DELETE /note/global/events", "GET"],
  ["POST /_errors/err_1", "GET"],
  ["GET /note/global/was_written", "POST"],
  ["GET /_atomic-write", "POST"],
  ["DELETE /note/global", "GET, POST"],
  ["PATCH /note/global", "GET, POST"],
  ["POST /health/live", "GET"],
  ["POST /health/ready", "GET"],
  ["GET /api/login", "POST"],
  ["GET /api/users", "POST"],
  ["DELETE /api/instances", "GET, POST"],
  ["DELETE /api/instances/{instance}", "GET, PATCH"],
  ["PUT /api/instances/{instance}/spec", "GET, POST"],
  ["POST /api/instances/{instance}/specs", "GET"],
  ["PUT /api/instances/{instance}/keys", "GET, POST"],
  ["GET /api/keys/key_1", "DELETE"],
  ["GET /api/keys/key_1/rotate", "POST"],
  ["GET /api/keys/key_1/schedule_revocation", "POST"],
];
testCases(
  "405",
  METHODS.map(([call, allow]): Case => ({
    name: `${call} is 405 with Allow: ${allow}, without a key too`,
    call,
    token: null,
    status: 405,
    headers_out: { allow },
    answer: refusal("method_not_allowed", "Method not allowed"),
  })),
);

const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET, POST, OPTIONS",
  "access-control-allow-headers": "Authorization, Content-Type",
};
testCases(
  "CORS",
  ["/note", "/note/global/was_written", "/_atomic-write", "/api/login", "/nowhere/at/all/x"].map(
    (path): Case => ({
      name: `OPTIONS ${path} has the three headers and needs no key`,
      call: `OPTIONS ${path}`,
      token: null,
      status: 204,
      headers_out: CORS,
    }),
  ),
);
testCases("CORS", [
  {
    name: "a refusal has the origin header",
    call: "GET /parcel",
    status: 404,
    headers_out: { "access-control-allow-origin": "*" },
  },
  {
    name: "a read has the origin header",
    call: "GET /note",
    status: 200,
    headers_out: { "access-control-allow-origin": "*" },
  },
]);

const CONTENT_TYPE = refusal("bad_request", "Content-Type must be application/json");
testCases("content type", [
  ...[
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/jsonp",
    "json",
    "multipart/form-data; boundary=x",
    "application/ld+json",
  ]
    .flatMap((type) =>
      ["/note/global/was_written", "/note/global", "/_atomic-write", "/api/login"]
        .map((path): Case => ({
          name: `${type} on POST ${path} is 400`,
          call: `POST ${path}`,
          body: JSON.stringify(noteBody("a")),
          headers: { "content-type": type },
          status: 400,
          answer: CONTENT_TYPE,
        }))
    ),
  {
    name: "none is 400",
    call: CALL,
    body: new TextEncoder().encode(JSON.stringify(noteBody("a"))),
    headers: { "content-type": "" },
    status: 400,
    answer: CONTENT_TYPE,
  },
  {
    name: "a charset other than UTF-8 is 400",
    call: CALL,
    body: noteBody("a"),
    headers: { "content-type": "application/json; charset=latin1" },
    status: 400,
  },
  {
    name: "is compared without regard to case",
    call: CALL,
    body: noteBody("a"),
    headers: { "content-type": "Application/JSON" },
    status: 201,
  },
]);

const META = `"metadata":{"actor":${JSON.stringify(ACTOR)}}`;

function nested(levels: number): string {
  return `{"data":{"x":${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}},${META}}`;
}

const BODIES: readonly (readonly [name: string, body: string | Uint8Array, answer: unknown])[] = [
  ["empty", "", refusal("bad_request", "Request body is empty")],
  ["malformed", '{"data":', /Malformed JSON at position 8/],
  ["two values", "{} {}", /Malformed JSON/],
  ["a list", "[]", refusal("bad_request", "Request body must be a JSON object")],
  ["null", "null", refusal("bad_request", "Request body must be a JSON object")],
  ["a comment", "{/**/}", /Malformed JSON/],
  ["a trailing comma", `{"data":{},${META},}`, /Malformed JSON/],
  ["NaN", `{"data":{"x":NaN},${META}}`, /Malformed JSON/],
  ["no UTF-8", new Uint8Array([0x7b, 0xff, 0x7d]), /not valid UTF-8/],
  ["a byte order mark first", "\ufeff{}", /byte order mark/],
  ["nested deeper than 64", nested(65), /nested deeper than 64 levels/],
  ["the same key twice", `{"data":{"a":1,"a":2},${META}}`, /Duplicate key.*"path":"data\.a"/],
  ["a number beyond a double", `{"data":{"n":1e999},${META}}`, /"path":"data\.n"/],
  ["a negative number beyond a double", `{"data":{"n":[-1e400]},${META}}`, /"path":"data\.n\.0"/],
  ["an integer no double holds", `{"data":{"n":9007199254740993},${META}}`, /"path":"data\.n"/],
  [
    "a long integer no double holds",
    `{"data":{"n":[1,12345678901234567891]},${META}}`,
    /"path":"data\.n\.1"/,
  ],
];
testCases(
  "a body",
  BODIES.map(([name, body, answer]): Case => ({
    name: `that is ${name} is 400`,
    call: CALL,
    body,
    headers: { "content-type": "application/json" },
    status: 400,
    answer,
  })),
);
testCases("a body", [
  { name: "nested 64 levels is taken", call: CALL, body: nested(64), status: 201 },
  {
    name: "with the largest integers that a double holds is taken",
    call: CALL,
    body: `{"data":{"n":[9007199254740992,-9007199254740992,1e22,0.1,1.0]},${META}}`,
    status: 201,
  },
]);

Deno.test("numbers are stored as they were sent: no digit is silently lost", () =>
  withWorld(async ({ send }) => {
    const body = `{"data":{"n":[9007199254740992,1152921504606847000,0.1,-0.5,1e21]},${META}}`;
    assert.equal((await send("POST", "/note/global/was_written", { body })).status, 201);
    const [{ event }] = (await send("GET", "/note/global/events")).body.data;
    assert.deepEqual(event.data.n, [9007199254740992, 1152921504606847000, 0.1, -0.5, 1e21]);
  }));

Deno.test("__proto__, constructor and prototype are ordinary data, in events and in state", () =>
  withWorld(async ({ send }) => {
    const data = '{"customer":"Ada","__proto__":{"polluted":true}}';
    const refused = await send("POST", "/order/global/was_placed", {
      body: `{"data":${data},${META}}`,
    });
    assert.equal(refused.body.path, "data.__proto__");
    const text = '{"__proto__":{"polluted":true},"constructor":1,"prototype":{"a":2}}';
    await send("POST", "/note/global/was_written", { body: `{"data":{"text":${text}},${META}}` });
    const stored = await send("GET", "/note/global/events?raw=true");
    assert.ok(JSON.parse(stored.text).data[0].raw.includes(`"data":{"text":${text}}`));
    assert.match(
      (await send("GET", "/note/global")).text,
      new RegExp(`"texts":\\[${text}\\]`.replaceAll("{", "\\{")),
    );
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  }));

Deno.test("keys stay as they were sent, whatever others have sent before, in events and in state", () =>
  withWorld(async ({ send }) => {
    // After the second text the runtime's own parser reads the key of the third as that of it.
    const texts = [String.raw`{"id":0,"\\":0}`, String.raw`{"id":1,"\n":2}`, '{"id":2,"grö":1}'];
    for (const text of texts) {
      // As a client may write it that escapes what is not ASCII.
      const sent = text.replace("ö", "\\u00f6");
      const body = `{"data":{"text":${sent}},${META}}`;
      assert.equal((await send("POST", "/note/global/was_written", { body })).status, 201);
    }
    const stored = JSON.parse((await send("GET", "/note/global/events?raw=true")).text).data;
    stored.forEach(({ raw }: { raw: string }, index: number) => {
      assert.ok(raw.includes(`"data":{"text":${texts[index]}}`), raw);
    });
    const { text } = await send("GET", "/note/global");
    assert.ok(text.includes(`"texts":[${texts.join(",")}]`), text);
  }));

const HINT = { hint: "The path exists without the slash at its end" };
testCases("a path", [
  ...["/a/b/c/d", "/api", "/api/unknown", "/health", "/metrics/x", "/_unknown", "//note"]
    .map((path): Case => ({
      name: `${path} that does not exist is 404`,
      call: `GET ${path}`,
      status: 404,
      answer: refusal("not_found", "No such path"),
    })),
  ...["/note/", "/note/global/", "/note/global/length/", "/api/instances/"].map((path): Case => ({
    name: `${path} with a slash too many is 404 and says so`,
    call: `GET ${path}`,
    status: 404,
    answer: refusal("not_found", "No such path", HINT),
  })),
  {
    name: "with broken percent-encoding is 400",
    call: "GET /note/%E0%A4%A",
    status: 400,
    answer: refusal("bad_request", "Malformed percent-encoding in the path"),
  },
  {
    name: "is percent-decoded before its id is judged",
    after: [{ call: `POST /note/${uuid(1)}:a/was_written`, body: noteBody("a") }],
    call: `GET /note/${uuid(1)}%3Aa/length`,
    status: 200,
    answer: { ok: true, length: 1 },
  },
  {
    name: "may not have parameters in its query that nobody knows",
    call: "GET /note/global/length?utm=1",
    status: 400,
    answer: {
      ok: false,
      error: "Unknown query parameter 'utm'",
      error_type: "bad_request",
      path: "utm",
      hint: "It takes 'instance_id'",
      docs: "/_docs/errors/bad_request",
    },
  },
]);

Deno.test("x-request-id: a usable one of the client is kept, any other is replaced by 32 hex digits", () =>
  withWorld(async ({ send }) => {
    const idFor = async (id: string) => {
      const headers = { "x-request-id": id };
      return (await send("GET", "/note/global/length", { headers })).headers.get("x-request-id");
    };
    for (const id of ["a", "A-z_09", "x".repeat(64)]) assert.equal(await idFor(id), id);
    for (const id of ["", "a b", "x".repeat(65), "<script>", "a/b"]) {
      assert.match(String(await idFor(id)), /^[0-9a-f]{32}$/, id);
    }
  }));

Deno.test("HEAD answers as GET does, without a body", () =>
  withWorld(async (world) => {
    for (const path of ["/note/main", "/note", "/note/main/events", "/parcel", "/health/live"]) {
      const get = await sendStep(world, { call: `GET ${path}` });
      const head = await sendStep(world, { call: `HEAD ${path}` });
      assert.equal(head.status, get.status, path);
      assert.equal(head.text, "");
      assert.equal(
        head.headers.get("content-length"),
        String(new TextEncoder().encode(get.text).length),
      );
    }
  }));

testCases("health", [
  {
    name: "GET /health/live is 200 without a key",
    call: "GET /health/live",
    token: null,
    status: 200,
    answer: { ok: true },
  },
  {
    name: "GET /health/ready is 200 without a key",
    call: "GET /health/ready",
    token: null,
    status: 200,
    answer: { ok: true },
  },
  {
    name: "answers on api.<base>",
    host: "api.example.com",
    call: "GET /health/ready",
    token: null,
    status: 200,
  },
  {
    name: "answers on a host nobody knows",
    host: "10.0.0.1",
    call: "GET /health/live",
    token: null,
    status: 200,
  },
]);
