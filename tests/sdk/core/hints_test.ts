/** What a client says when it cannot do what it was asked: which fault it is, and what to do. */

import assert from "node:assert/strict";
import { createClient } from "@daybook/client";
import {
  answers,
  hangs,
  refuses,
  scriptedWorld,
  type SentRequest,
  type Turn,
} from "./scripted_world.ts";

interface Row {
  readonly turn: Turn;
  readonly error_type: string;
  readonly error: RegExp;
  readonly hint: RegExp;
}

function refused(status: number, error_type: string, error: string): Turn {
  return answers(status, { ok: false, error, error_type });
}

const ROWS: Readonly<Record<string, Row>> = {
  "a server that is down": {
    turn: refuses("tcp connect error: Connection refused"),
    error_type: "unreachable",
    error: /^No answer from http:\/\/shop\.test: .*Connection refused$/,
    hint: /server runs.*address/,
  },
  "a server that is down, as Node says it": {
    turn: () => Promise.reject(new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") })),
    error_type: "unreachable",
    error: /ECONNREFUSED$/,
    hint: /server runs.*address/,
  },
  "a server that does not answer": {
    turn: hangs(),
    error_type: "timed_out",
    error: /within 30000 ms/,
    hint: /timeoutMs/,
  },
  "a page for people at the address": {
    turn: () => new Response("<!doctype html>\n<title>Welcome</title>", { status: 200 }),
    error_type: "not_daybook",
    error: /http:\/\/shop\.test answers 200 .*<!doctype html> <title>Welcome/,
    hint: /Check url/,
  },
  "JSON of another server": {
    turn: answers(200, { status: "up" }),
    error_type: "not_daybook",
    error: /answers 200/,
    hint: /Check url/,
  },
  "a redirect": {
    turn: () => new Response(null, { status: 301, headers: { location: "https://shop.test/" } }),
    error_type: "not_daybook",
    error: /redirects to https:\/\/shop\.test\//,
    hint: /that address/,
  },
  "a proxy without its server": {
    turn: () => new Response("bad gateway", { status: 502 }),
    error_type: "not_daybook",
    error: /answers 502/,
    hint: /whether the server runs/,
  },
  "no key": {
    turn: refused(401, "unauthorized", "API key required: send the header 'Authorization'"),
    error_type: "unauthorized",
    error: /API key required/,
    hint: /`key`.*credentials\.json/,
  },
  "a wrong key": {
    turn: refused(401, "unauthorized", "Invalid API key"),
    error_type: "unauthorized",
    error: /Invalid API key/,
    hint: /wrong or revoked.*credentials\.json/,
  },
  "an operator token where a key is wanted": {
    turn: refused(
      401,
      "unauthorized",
      "This call needs an API key (Authorization: Bearer dbk_...), but an operator token (JWT) was sent",
    ),
    error_type: "unauthorized",
    error: /needs an API key/,
    hint: /API key of this environment/,
  },
  "an expired operator token": {
    turn: refused(401, "unauthorized", "The token has expired"),
    error_type: "unauthorized",
    error: /expired/,
    hint: /POST \/api\/login/,
  },
  "a key without the scope": {
    turn: refused(
      403,
      "forbidden",
      "This API key has scope 'read'; this call needs a key with scope 'write'",
    ),
    error_type: "forbidden",
    error: /scope 'read'/,
    hint: /key whose scope is write/,
  },
  "a key of another environment": {
    turn: refused(403, "forbidden", "The API key belongs to another environment"),
    error_type: "forbidden",
    error: /another environment/,
    hint: /dbk_0_test_/,
  },
  "a route that an old server does not know": {
    turn: refused(404, "not_found", "No such path"),
    error_type: "unsupported",
    error: /does not know GET \/order\/main/,
    hint: /older than this client/,
  },
  "a parameter that an old server does not know": {
    turn: refused(400, "bad_request", "Unknown query parameter 'at_length'"),
    error_type: "unsupported",
    error: /at_length/,
    hint: /older than this client/,
  },
  "no actor": {
    turn: refused(400, "bad_request", "metadata.actor is required"),
    error_type: "bad_request",
    error: /metadata\.actor/,
    hint: /`actor`/,
  },
};

for (const [name, { turn, error_type, error, hint }] of Object.entries(ROWS)) {
  Deno.test(`${name} is ${error_type}, and the hint says what to do`, async () => {
    const world = scriptedWorld([turn]);
    const client = createClient({ url: "http://shop.test", key: "k", world, retries: 0 });
    const answer = await client.order!("main").get();
    assert.ok(!answer.ok);
    assert.equal(answer.error_type, error_type);
    assert.match(answer.error, error);
    assert.match(answer.hint!, hint);
  });
}

Deno.test("a hint of the server is not replaced", async () => {
  const body = { ok: false, error: "Invalid API key", error_type: "unauthorized", hint: "Its own" };
  const world = scriptedWorld([answers(401, body)]);
  const answer = await createClient({ url: "http://shop.test", world }).order!("main").get();
  assert.equal(!answer.ok && answer.hint, "Its own");
});

Deno.test("other missing things stay not_found", async () => {
  const world = scriptedWorld([refused(404, "not_found", "Aggregate not found")]);
  const answer = await createClient({ url: "http://shop.test", world }).order!("main").get();
  assert.equal(!answer.ok && answer.error_type, "not_found");
});

/** Runs `body` as if it were in a page of an origin. */
async function asPageOf(origin: string, body: () => Promise<void>): Promise<void> {
  const page = { document: {}, location: { origin, protocol: new URL(origin).protocol } };
  const before = Object.getOwnPropertyDescriptors(globalThis) as Record<string, PropertyDescriptor>;
  for (const [name, value] of Object.entries(page)) {
    Object.defineProperty(globalThis, name, { value, configurable: true });
  }
  try {
    await body();
  } finally {
    for (const name of Object.keys(page)) {
      delete (globalThis as Record<string, unknown>)[name];
      if (before[name]) Object.defineProperty(globalThis, name, before[name]!);
    }
  }
}

/** Lets no request with the header through, as a browser does when the preflight forbids it. */
function preflighted({ headers }: SentRequest): Response | Promise<Response> {
  if (headers?.["x-idempotency-key"] === undefined) return answers(200, { ok: true })(undefined!);
  return Promise.reject(new TypeError("Failed to fetch"));
}

Deno.test("a page whose origin may not send the idempotency key is told the setting", async () => {
  await asPageOf("https://app.test", async () => {
    const world = scriptedWorld([preflighted]);
    const client = createClient({ url: "http://shop.test", key: "k", world });
    const answer = await client.order!("main").was_placed!({ customer: "Ada" });
    assert.equal(!answer.ok && answer.error_type, "cors_refused");
    assert.match(answer.ok ? "" : answer.hint!, /DAYBOOK_CORS_ORIGINS/);
    // The write and two probes: the fault does not pass, so nothing is tried again.
    assert.deepEqual(world.sent.map(({ method }) => method), ["POST", "GET", "GET"]);
  });
});

Deno.test("a page that may send the key tries again after a lost answer, as everybody does", async () => {
  await asPageOf("https://app.test", async () => {
    const written = { ok: true, stream_id: "000000000000" };
    const world = scriptedWorld([
      refuses(),
      answers(200, {}),
      answers(200, {}),
      answers(201, written),
    ]);
    const client = createClient({ url: "http://shop.test", key: "k", world });
    assert.ok((await client.order!("main").was_placed!({ customer: "Ada" })).ok);
    assert.deepEqual(world.sent.map(({ method }) => method), ["POST", "GET", "GET", "POST"]);
  });
});

Deno.test("a page on its own origin, and one whose server is down, are told what everybody is", async () => {
  for (const origin of ["http://shop.test", "https://app.test"]) {
    await asPageOf(origin, async () => {
      const world = scriptedWorld([refuses()]);
      const client = createClient({ url: "http://shop.test", key: "k", world, retries: 0 });
      const answer = await client.order!("main").was_placed!({ customer: "Ada" });
      assert.equal(!answer.ok && answer.error_type, "unreachable");
    });
  }
});
