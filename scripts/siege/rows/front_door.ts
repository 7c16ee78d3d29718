/** Attacks that need no key, or a bad one: logins, credentials, paths, and uses of connections. */

import type { AttackGroup, HostileRequest, Json } from "../attack.ts";
import { collidingLiterals, objectOf } from "../../../tests/support/colliding_names.ts";
import { ACTOR, eventType, idOf, read, repeat, specOf, write } from "../documents.ts";

const MiB = 2 ** 20;

function login(email: Json, password: Json): HostileRequest {
  return { path: "/api/login", body: JSON.stringify({ email, password }), as: "nobody" };
}

function loginBody(body: string): HostileRequest {
  return { path: "/api/login", body, as: "nobody" };
}

function countingSpec(): Json {
  return specOf({ thing: { was_seen: eventType({ increment: { target: "n" } }) } });
}

/** Combining marks of two classes, which normalization must sort against each other. */
const MARKS = `a${"\u0301".repeat(160_000)}${"\u0334".repeat(160_000)}`;

/** 63 KB: nearly as much as a head may have. */
const LONG_HEAD = Object.fromEntries(repeat(90, (i) => [`X-H${i}`, "a".repeat(690)]));

export const FRONT_DOOR: AttackGroup = {
  title: "front door",
  attacks: [
    {
      name: "login password of combining marks",
      does: "a password of 320,000 combining marks, whose normal form takes quadratic time",
      needs: "nothing",
      waves: [{ request: () => login("a@example.com", MARKS), clients: 1 }],
    },
    {
      name: "login email of combining marks",
      does: "the same marks as the email address",
      needs: "nothing",
      waves: [{ request: () => login(`${MARKS}@example.com`, "a password it is"), clients: 1 }],
    },
    {
      name: "login password of Hangul",
      does: "two million letters, each of which normalizing takes apart",
      needs: "nothing",
      waves: [{ request: () => login("a@example.com", "\uD55C".repeat(2_000_000)), clients: 2 }],
    },
    {
      name: "login bodies that never end",
      does: "100 connections stop a few bytes before the end of a body of 8 MiB",
      needs: "nothing",
      waves: [{
        request: () => loginBody(`{"email":"${"a".repeat(8 * MiB - 100)}"}`),
        manner: "never_finish",
        clients: 100,
      }],
    },
    {
      name: "login body of empty objects",
      does: "8 MiB of {} in one list",
      needs: "nothing",
      waves: [{
        request: () => loginBody(`{"a":[${"{},".repeat(2_790_000)}{}]}`),
        clients: 2,
      }],
    },
    {
      name: "login flood of random emails",
      does: "80 connections log in as nobody, while an operator logs in",
      needs: "nothing",
      watch: ["login"],
      waves: [{
        request: (turn) => login(`user${turn}@example.com`, "a password it is"),
        clients: 80,
      }],
    },
    {
      name: "login bodies of keys with one hash",
      does:
        "64 connections, each body with 150 keys that the runtime looks up one behind the other",
      needs: "nothing",
      waves: [{
        request: (turn) => loginBody(objectOf(collidingLiterals(150, 150 * turn))),
        clients: 64,
      }],
    },
    {
      name: "paths and origins with one hash",
      does: "64 connections ask for what does not exist by names that share a bucket in the engine",
      needs: "nothing",
      waves: [{
        request: (turn) => ({
          ...read(`/${encodeURIComponent(JSON.parse(collidingLiterals(1, 2 * turn)[0]!))}`),
          headers: { Origin: JSON.parse(collidingLiterals(1, 2 * turn + 1)[0]!) },
          address: `10.${1 + turn % 200}.${(turn >> 8) % 250}.${turn % 250}`,
        }),
        clients: 64,
      }],
    },
    {
      name: "login flood from many addresses",
      does: "80 connections, each request from another address and with another email",
      needs: "nothing",
      watch: ["login"],
      waves: [{
        request: (turn) => ({
          ...login(`user${turn}@example.com`, "a password it is"),
          address: `10.${1 + turn % 200}.${(turn >> 8) % 250}.${turn % 250}`,
        }),
        clients: 80,
      }],
    },
    {
      name: "login flood on the operator's account",
      does: "wrong passwords for the very account of the operator who logs in beside it",
      needs: "an email address",
      watch: ["login"],
      waves: [{ request: () => login("neighbour@example.com", "not the password"), clients: 20 }],
    },
    {
      name: "key guessing",
      does: "64 connections try API keys that do not exist",
      needs: "nothing",
      waves: [{
        request: (turn) => ({
          ...read("/thing"),
          as: "nobody",
          headers: { Authorization: `Bearer dbk_0_test_${String(turn).padStart(43, "x")}` },
        }),
        clients: 64,
      }],
    },
    {
      name: "operator tokens of 8 KiB",
      does: "64 connections send tokens that are long and signed by nobody",
      needs: "nothing",
      waves: [{
        request: (turn) => {
          const head = btoa(JSON.stringify({ alg: "HS256" })).replaceAll("=", "");
          const claims = btoa(JSON.stringify({ sub: "a".repeat(5_900), n: turn })).replaceAll(
            "=",
            "",
          );
          const token = `${head}.${claims}.${"A".repeat(43)}`;
          return {
            path: "/api/instances",
            as: "nobody",
            headers: { Authorization: `Bearer ${token}` },
          };
        },
        clients: 64,
      }],
    },
    {
      name: "paths that do not exist",
      does: "128 connections ask for paths of which there is none",
      needs: "nothing",
      waves: [{ request: (turn) => ({ path: `/a/b/c/d/e/${turn}`, as: "nobody" }), clients: 128 }],
    },
    {
      name: "pages of the documentation that nobody reads",
      does: "500 connections ask for the index of its search without compression, and read nothing",
      needs: "nothing",
      waves: [{
        request: () => ({ path: "/_docs/search.json", as: "nobody" }),
        manner: "never_read",
        clients: 500,
      }],
    },
    {
      name: "long paths",
      does: "paths of 60 KB in escapes",
      needs: "nothing",
      waves: [{
        request: () => ({ path: `/${"%C3%A4".repeat(10_000)}`, as: "nobody" }),
        clients: 16,
      }],
    },
    {
      name: "long queries",
      does: "7,000 parameters in the query",
      needs: "read key",
      spec: countingSpec,
      waves: [{
        request: () => read(`/thing?${repeat(7_000, (i) => `a${i}=1`).join("&")}`),
        clients: 8,
      }],
    },
    {
      name: "many headers",
      does: "90 headers of 500 bytes each",
      needs: "nothing",
      waves: [{
        request: () => ({
          path: "/openapi.json",
          as: "nobody",
          headers: Object.fromEntries(repeat(90, (i) => [`X-Header-${i}`, "a".repeat(500)])),
        }),
        clients: 16,
      }],
    },
    {
      name: "live answers behind long heads",
      does: "2,000 connections follow the feed, each with 63 KB of headers",
      needs: "read key",
      spec: countingSpec,
      waves: [{
        request: { ...read("/_feed?live=sse&from=now"), headers: LONG_HEAD },
        manner: "never_read",
        clients: 2_000,
      }],
    },
    {
      name: "login bodies that never end behind long heads",
      does: "2,000 connections from 200 addresses stop within the body, after 63 KB of headers",
      needs: "nothing",
      waves: [{
        request: (turn) => ({
          ...login("a@example.com", "a password it is"),
          address: `10.${turn % 200}.0.1`,
          headers: LONG_HEAD,
        }),
        manner: "never_finish",
        clients: 2_000,
      }],
    },
    {
      name: "headers of commas",
      does: "64 connections send 60 KB of commas each, in headers that are lists",
      needs: "nothing",
      waves: [
        {
          request: () => ({
            path: "/openapi.json",
            as: "nobody",
            headers: { "Accept-Encoding": ",".repeat(60_000) },
          }),
          clients: 32,
        },
        {
          request: () => ({
            ...loginBody("{}"),
            contentType: `application/json${";".repeat(60_000)}`,
          }),
          clients: 32,
        },
      ],
    },
    {
      name: "forwarded addresses without end",
      does: "a header X-Forwarded-For of 5,000 addresses",
      needs: "nothing",
      waves: [{
        request: () => ({
          path: "/thing",
          as: "nobody",
          address: repeat(5_000, (i) => `10.0.${i % 250}.1`).join(", "),
        }),
        clients: 16,
      }],
    },
    {
      name: "preflights",
      does: "128 connections send OPTIONS, which no limit counts",
      needs: "nothing",
      waves: [{ request: { method: "OPTIONS", path: "/thing", as: "nobody" }, clients: 128 }],
    },
    {
      name: "HEAD of a state",
      does: "64 connections ask for heads only",
      needs: "read key",
      spec: countingSpec,
      prepare: () => [write("thing", idOf(1), "was_seen", {})],
      waves: [{ request: { method: "HEAD", path: `/thing/${idOf(1)}`, as: "read" }, clients: 64 }],
    },
    {
      name: "heads byte by byte",
      does: "200 connections send the head of a request one byte at a time",
      needs: "nothing",
      waves: [{ request: read("/thing"), manner: "drip_head", clients: 200, pauseMs: 200 }],
    },
    {
      name: "bodies byte by byte",
      does: "200 connections send the body of a write one byte at a time",
      needs: "write key",
      spec: countingSpec,
      waves: [{
        request: write("thing", idOf(1), "was_seen", {}),
        manner: "drip",
        clients: 200,
        pauseMs: 100,
      }],
    },
    {
      name: "chunks of one byte",
      does: "100 connections send a body of 3 KB in chunks of one byte, as fast as they can",
      needs: "write key",
      spec: countingSpec,
      waves: [{
        request: write("thing", idOf(1), "was_seen", { a: "a".repeat(3_000) }),
        manner: "drip_chunks",
        clients: 100,
        pauseMs: 0,
      }],
    },
    {
      name: "write bodies that never end",
      does: "100 connections stop a few bytes before the end of a batch of 8 MiB",
      needs: "write key",
      spec: countingSpec,
      waves: [{
        request: () => ({
          path: `/thing/${idOf(1)}`,
          body: `{"a":"${"a".repeat(8 * MiB - 100)}"}`,
        }),
        manner: "never_finish",
        clients: 100,
      }],
    },
    {
      name: "connections closed at once",
      does: "100 connections write and are gone before the answer",
      needs: "write key",
      spec: countingSpec,
      waves: [{
        request: (turn) => write("thing", idOf(turn % 100), "was_seen", {}),
        manner: "hang_up",
        clients: 100,
      }],
    },
    {
      name: "half closed connections",
      does: "64 connections close their side as soon as the request is sent",
      needs: "read key",
      spec: countingSpec,
      waves: [{ request: read("/thing"), manner: "half_close", clients: 64 }],
    },
    {
      name: "requests in a pipe",
      does: "16 connections send 200 requests each before they read an answer",
      needs: "read key",
      spec: countingSpec,
      waves: [{ request: read("/thing"), clients: 16, pipelined: 200 }],
    },
    {
      name: "reads without a pause",
      does: "128 connections of an unlimited instance read one state",
      needs: "read key",
      spec: countingSpec,
      prepare: () => [write("thing", idOf(1), "was_seen", {})],
      waves: [{ request: read(`/thing/${idOf(1)}`), clients: 128 }],
    },
    {
      name: "writes without a pause",
      does: "128 connections of an unlimited instance write to one stream",
      needs: "write key",
      spec: countingSpec,
      waves: [{ request: write("thing", idOf(1), "was_seen", {}), clients: 128 }],
    },
    {
      name: "conflicts without a pause",
      does: "64 connections write to one stream with a length that is wrong",
      needs: "write key",
      spec: countingSpec,
      waves: [{
        request: {
          path: `/thing/${idOf(1)}/was_seen`,
          body: JSON.stringify({ data: {}, metadata: { actor: ACTOR, previous_length: 7 } }),
        },
        clients: 64,
      }],
    },
    {
      name: "metrics and health without a pause",
      does: "64 connections ask for what no limit counts",
      needs: "nothing",
      waves: [
        { request: { path: "/metrics", as: "nobody" }, clients: 32 },
        { request: { path: "/health/ready", as: "nobody" }, clients: 32 },
      ],
    },
  ],
};
