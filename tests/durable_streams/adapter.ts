/**
 * A server of the protocol Durable Streams (https://github.com/durable-streams/durable-streams) in
 * front of the public HTTP API of Daybook. A stream is an aggregate; its offsets are the ids of its
 * events. The adapter keeps nothing between requests: it translates names, headers and envelopes,
 * so the order, pages, waits, wake-ups, tags and refusals that clients see are those of Daybook.
 *
 * Its own are only the parts without a counterpart: that a stream has one content type, and a live
 * read an offset; the headers `Location` and `Stream-Cursor`; that answers about the tail (HEAD and
 * the offset `now`) are not cached.
 */

import { createHash } from "node:crypto";
import {
  type Appended,
  bodyOf,
  type Entry,
  eventsOf,
  isBinary,
  translateFrames,
} from "./envelope.ts";

export interface Daybook {
  readonly url: string;
  /** A write key of the environment. */
  readonly key: string;
  /** How long its long polls wait: 1 to 30. */
  readonly waitSeconds: number;
}

export interface Adapter {
  readonly url: string;
  stop(): Promise<void>;
}

interface Call {
  readonly daybook: Daybook;
  readonly request: Request;
  /** The path of the aggregate. */
  readonly path: string;
  /** Undefined: the request has none. */
  readonly contentType: string | undefined;
}

export function startAdapter(daybook: Daybook): Adapter {
  const onListen = () => {};
  const onError = () => new Response(null, { status: 502 });
  const options = { hostname: "127.0.0.1", port: 0, onListen, onError };
  const server = Deno.serve(options, (request) => {
    const path = `/stream/${idOf(new URL(request.url).pathname)}`;
    const contentType = request.headers.get("content-type") ?? undefined;
    return answer({ daybook, request, path, contentType });
  });
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}

/** Ids of aggregates are UUIDs, so a name is one of version 5. */
function idOf(name: string): string {
  const hash = createHash("sha1").update(name).digest("hex");
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-5$3-a$4-$5");
}

function answer(call: Call): Promise<Response> {
  switch (call.request.method) {
    case "PUT":
      return create(call);
    case "POST":
      return append(call);
    case "HEAD":
      return describe(call);
    case "GET":
      return read(call);
    case "OPTIONS":
      return ask(call, call.path, { method: "OPTIONS", headers: call.request.headers });
    default:
      return Promise.resolve(new Response(null, { status: 405 }));
  }
}

function ask({ daybook, request }: Call, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${daybook.key}`);
  return fetch(`${daybook.url}${path}`, { signal: request.signal, ...init, headers });
}

function write(
  call: Call,
  events: readonly Appended[],
  guard: { readonly previous_length?: number },
): Promise<Response> {
  return ask(call, call.path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ events, metadata: { actor: { type: "user", id: "global" }, ...guard } }),
  });
}

/** The status of a refusal, without its body. */
async function refuse({ status, body }: Response): Promise<Response> {
  await body?.cancel();
  return new Response(null, { status });
}

/** The content type of the stream, or Daybook's refusal. */
async function findContentType(call: Call): Promise<string | Response> {
  const response = await ask(call, call.path);
  if (!response.ok) return await refuse(response);
  const { data } = await response.json();
  return data.content_type;
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** The id of the last event, where everything that is written later comes behind. */
async function findTail(call: Call): Promise<string> {
  const response = await ask(call, `${call.path}/events?direction=backwards&count=1`);
  const { data } = await response.json();
  return data[0].id;
}

async function create(call: Call): Promise<Response> {
  const { request, contentType = "application/octet-stream" } = call;
  const events = eventsOf(contentType, await request.bytes());
  if (events === undefined) return new Response(null, { status: 400 });
  const opened = { type: "was_opened", data: { content_type: contentType } };
  const written = await write(call, [opened, ...events], { previous_length: 0 });
  if (written.status !== 409 && !written.ok) return await refuse(written);
  const { stream_ids } = await written.json();
  const known = written.ok ? contentType : await findContentType(call);
  if (typeof known !== "string") return known;
  if (!isSame(known, contentType)) return new Response(null, { status: 409 });
  const offset = written.ok ? stream_ids.at(-1) : await findTail(call);
  const headers = { "content-type": contentType, "stream-next-offset": offset };
  return written.ok
    ? new Response(null, { status: 201, headers: { ...headers, location: request.url } })
    : new Response(null, { status: 200, headers });
}

async function append(call: Call): Promise<Response> {
  const { request, contentType } = call;
  const body = await request.bytes();
  const known = await findContentType(call);
  if (typeof known !== "string") return known;
  if (contentType === undefined) return new Response(null, { status: 400 });
  if (!isSame(known, contentType)) return new Response(null, { status: 409 });
  const events = eventsOf(contentType, body);
  if (events === undefined) return new Response(null, { status: 400 });
  const written = await write(call, events, {});
  if (!written.ok) return await refuse(written);
  const { stream_ids } = await written.json();
  return new Response(null, { status: 204, headers: { "stream-next-offset": stream_ids.at(-1) } });
}

async function describe(call: Call): Promise<Response> {
  const contentType = await findContentType(call);
  if (typeof contentType !== "string") return contentType;
  const offset = await findTail(call);
  const headers = { "content-type": contentType, "stream-next-offset": offset };
  return new Response(null, { headers: { ...headers, "cache-control": "no-store" } });
}

async function read(call: Call): Promise<Response> {
  const contentType = await findContentType(call);
  if (typeof contentType !== "string") return contentType;
  const { searchParams } = new URL(call.request.url);
  const live = searchParams.get("live");
  const isAtTail = searchParams.get("offset") === "now";
  if (live !== null && !searchParams.has("offset")) return new Response(null, { status: 400 });
  const starts = isAtTail ? [await findTail(call)] : searchParams.getAll("offset");
  const query = new URLSearchParams();
  for (const start of starts) if (start !== "-1") query.append("start", start);
  if (live !== null) query.set("live", live);
  if (live === "long-poll") query.set("wait", String(call.daybook.waitSeconds));
  const tag = call.request.headers.get("if-none-match");
  const asked = new Headers(tag === null ? [] : [["if-none-match", tag]]);
  const response = await ask(call, `${call.path}/events?${query}`, { headers: asked });
  const headers = sharedHeaders(response);
  if (response.status === 304) return new Response(null, { status: 304, headers });
  if (!response.ok) return await refuse(response);
  if (isAtTail && live === null) headers.set("cache-control", "no-store");
  // Caches need it that answer several readers at once. Daybook's live answers are not cached.
  const cursor = String(Number(searchParams.get("cursor") ?? 0) + 1);
  if (live !== null) headers.set("stream-cursor", cursor);
  return live === "sse"
    ? answerLive(response, { contentType, cursor, headers })
    : answerPage(await response.json(), { contentType, start: query.get("start"), live, headers });
}

/** The headers that Daybook and Durable Streams have in common. */
function sharedHeaders(response: Response): Headers {
  const names = ["etag", "cache-control"].filter((name) => response.headers.has(name));
  return new Headers(names.map((name) => [name, response.headers.get(name)!]));
}

interface LiveAnswer {
  readonly contentType: string;
  readonly cursor: string;
  readonly headers: Headers;
}

function answerLive(response: Response, { contentType, cursor, headers }: LiveAnswer): Response {
  headers.set("content-type", response.headers.get("content-type")!);
  if (isBinary(contentType)) headers.set("stream-sse-data-encoding", "base64");
  const body = response.body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(translateFrames(contentType, cursor))
    .pipeThrough(new TextEncoderStream());
  return new Response(body, { headers });
}

/** What `GET /{type}/{id}/events` answers. */
interface Page {
  readonly data: readonly Entry[];
  readonly truncated: boolean;
  readonly next_start?: string;
}

interface PageAnswer {
  readonly contentType: string;
  /** The place where the page begins; null: the first event. */
  readonly start: string | null;
  readonly live: string | null;
  readonly headers: Headers;
}

function answerPage(
  { data, truncated, next_start }: Page,
  { contentType, start, live, headers }: PageAnswer,
): Response {
  headers.set("stream-next-offset", next_start ?? data.at(-1)?.id ?? start ?? "");
  if (!truncated) headers.set("stream-up-to-date", "true");
  if (live !== null && data.length === 0) return new Response(null, { status: 204, headers });
  headers.set("content-type", contentType);
  return new Response(bodyOf(contentType, data), { headers });
}
