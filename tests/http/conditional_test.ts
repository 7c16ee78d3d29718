/** Entity tags: one for each text, and how `If-None-Match` is compared with them. */

import assert from "node:assert/strict";
import { sendBare, sendTagged } from "../../src/http/conditional.ts";
import { fakeHost } from "../support/fake_host.ts";
import type { Call } from "../../src/http/call.ts";
import type { Part } from "../../src/http/long_answer.ts";

const BODY = '{"ok":true,"data":{"n":1}}';

function callWith(known?: string, method = "GET"): Call {
  const headers = known === undefined ? undefined : { "if-none-match": known };
  const request = new Request("http://localhost/order/global", { headers, method });
  return { request, requestId: "r", host: fakeHost() } as Partial<Call> as Call;
}

async function tagOf(parts: readonly Part[]): Promise<string> {
  const response = await sendTagged(callWith(), parts);
  await response.body?.cancel();
  return response.headers.get("etag")!;
}

Deno.test("an answer carries a weak tag, and says that only its reader may keep it, and must ask", async () => {
  const response = await sendTagged(callWith(), [BODY]);
  assert.equal(response.status, 200);
  assert.match(response.headers.get("etag")!, /^W\/"[0-9a-z]+-[0-9a-z]+"$/);
  assert.equal(response.headers.get("cache-control"), "private, no-cache");
  assert.equal(response.headers.get("vary"), "Authorization");
  assert.equal(await response.text(), BODY);
});

Deno.test("the tag is of the text, however many parts it is in", async () => {
  const tag = await tagOf([BODY]);
  assert.equal(await tagOf([BODY.slice(0, 7), BODY.slice(7)]), tag);
  assert.equal(await tagOf([new TextEncoder().encode(BODY.slice(0, 7)), BODY.slice(7)]), tag);
  assert.notEqual(await tagOf([BODY.replace("1", "2")]), tag);
  assert.notEqual(await tagOf([`${BODY} `]), tag);
});

Deno.test("a text of megabytes is tagged in pieces, and each byte of it counts", async () => {
  const long = `{"ok":true,"data":"${"x".repeat(3_000_000)}"}`;
  const tag = await tagOf([long]);
  assert.equal(await tagOf([long]), tag);
  for (const at of [20, 262_144, 2_999_999]) {
    assert.notEqual(await tagOf([`${long.slice(0, at)}y${long.slice(at + 1)}`]), tag, `${at}`);
  }
});

Deno.test("who names the tag in If-None-Match gets 304 without a body, weakly compared", async () => {
  const tag = await tagOf([BODY]);
  const strong = tag.slice(2);
  for (const known of [tag, strong, "*", `"other", ${tag}`, `W/"a",${strong} , "b"`]) {
    const response = await sendTagged(callWith(known), [BODY]);
    assert.equal(response.status, 304, known);
    assert.equal(response.body, null);
    assert.equal(response.headers.get("etag"), tag);
    assert.equal(response.headers.get("cache-control"), "private, no-cache");
    assert.equal(response.headers.get("x-request-id"), "r");
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
  }
});

Deno.test("who names another tag, or none that is one, gets the whole answer", async () => {
  const tag = await tagOf([BODY]);
  for (const known of ['W/"0-0"', "", tag.slice(3, -1), tag.toUpperCase(), `x${tag}`]) {
    const response = await sendTagged(callWith(known), [BODY]);
    assert.equal(response.status, 200, known);
    assert.equal(await response.text(), BODY);
  }
});

Deno.test("an If-None-Match of more than 4,096 characters is not taken apart", async () => {
  const tag = await tagOf([BODY]);
  for (const [length, status] of [[4096, 304], [4097, 200], [60_000, 200]] as const) {
    const response = await sendTagged(callWith(tag.padStart(length, ",")), [BODY]);
    assert.equal(response.status, status, `${length}`);
    await response.body?.cancel();
  }
});

Deno.test("HEAD, and who names the version, are answered without a body being made", async () => {
  const whole = await sendTagged(callWith(), [BODY], "v1");
  const head = sendBare(callWith(undefined, "HEAD"), "v1", BODY.length)!;
  assert.deepEqual(
    Object.fromEntries(head.headers),
    { ...Object.fromEntries(whole.headers), "content-length": String(BODY.length) },
  );
  assert.deepEqual([head.status, head.body], [200, null]);
  await whole.body?.cancel();
  for (const method of ["GET", "HEAD"]) {
    const known = sendBare(callWith('W/"v1"', method), "v1", BODY.length)!;
    assert.deepEqual([known.status, known.headers.get("etag")], [304, 'W/"v1"']);
  }
  assert.equal(sendBare(callWith('W/"v2"'), "v1", BODY.length), undefined);
});
