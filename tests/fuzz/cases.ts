/**
 * Hostile requests from a seed: the corpus, random mixes of its parts, and mutated valid
 * requests. Case `n` of a seed is always the same request.
 */

import type { Random } from "../crash/random.ts";
import type { Sending } from "./connection.ts";
import corpus from "./corpus.json" with { type: "json" };

/** What a case needs to know about the server. */
export interface Credentials {
  readonly writeKey: string;
  readonly operatorToken: string;
  readonly instanceId: string;
}

/** Events that must all be stored or none; each carries `group` in its data. */
export interface Group {
  readonly id: string;
  readonly size: number;
}

export interface FuzzCase extends Sending {
  readonly bytes: Uint8Array;
  readonly group?: Group;
}

const encoder = new TextEncoder();
const ACTOR = '{"actor":{"type":"user","id":"global"}}';
const DEPTH_MAX = 200;
const BATCH_MAX = 300;

/** First the corpus, one request after another, then whatever `random` makes of it. */
export function makeCase(random: Random, index: number, known: Credentials): FuzzCase {
  const verbatim = corpus.requests[index];
  if (verbatim !== undefined) return unfinished(random, latin1(fillIn(verbatim, known)));
  const kind = random.below(10);
  if (kind < 3) return whole(random, assembled(random, known));
  if (kind < 5) return whole(random, write(random, known));
  if (kind < 6) return whole(random, deploy(random, known));
  if (kind < 8) return grouped(random, known);
  const base = random.chance(0.5) ? write(random, known) : assembled(random, known);
  return unfinished(random, mutate(random, base));
}

function whole(random: Random, bytes: Uint8Array): FuzzCase {
  return { bytes, pieces: split(random, bytes), complete: true };
}

function unfinished(random: Random, bytes: Uint8Array): FuzzCase {
  return { bytes, pieces: split(random, bytes), complete: false };
}

/** A random combination of a method, path, query, header and body of the corpus. */
function assembled(random: Random, known: Credentials): Uint8Array {
  const segments = Array.from({ length: 1 + random.below(4) }, () => random.pick(corpus.segments));
  const path = `/${segments.join("/")}${random.pick(corpus.queries)}`;
  // An answer to HEAD has a length and no body, so its end cannot be detected.
  const method = random.pick(corpus.methods.filter((name) => name !== "HEAD"));
  const token = random.chance(0.2) ? known.operatorToken : known.writeKey;
  const body = method === "GET" ? "" : random.pick(corpus.bodies);
  return request(method, path, {
    token,
    header: random.pick(corpus.headers),
    body: encoder.encode(body),
  });
}

/** A single write of a known type with data or metadata of the corpus, occasionally very deep. */
function write(random: Random, known: Credentials): Uint8Array {
  const [path, data] = random.pick([
    ["order", "was_viewed"],
    ["order", "was_placed"],
    ["order", "had_line_added"],
    ["customer", "was_registered"],
    ["inventory", "was_stocked"],
  ].map((
    [type, event],
  ) => [`/${type}/${random.pick(["global", "main"])}/${event}`, value(random)]));
  const metadata = random.chance(0.5) ? ACTOR : random.pick(corpus.metadata);
  const body = encoder.encode(`{"data":${data},"metadata":${metadata}}`);
  const bytes = random.chance(0.3) ? mutate(random, body) : body;
  return request("POST", path!, {
    token: known.writeKey,
    header: random.pick(corpus.headers),
    body: bytes,
  });
}

function value(random: Random): string {
  if (random.chance(0.9)) return random.pick(corpus.values);
  const depth = random.below(DEPTH_MAX);
  return random.chance(0.5)
    ? `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`
    : `{"a":${"[".repeat(depth)}${"]".repeat(random.below(depth + 1))}}`;
}

/** A spec with a hostile schema and handler, for the environment that nothing else uses. */
function deploy(random: Random, known: Credentials): Uint8Array {
  const event = `{"schema":${random.pick(corpus.schemas)},"handler":${
    random.pick(corpus.handlers)
  }}`;
  const spec = `{"aggregate_types":{"a":{"events":{"e":${event}}}},"agent_types":["user"]}`;
  const body = `{"environment":"staging","force":true,"spec":${spec}}`;
  const bytes = random.chance(0.3) ? mutate(random, encoder.encode(body)) : encoder.encode(body);
  return request("POST", `/api/instances/${known.instanceId}/spec`, {
    token: known.operatorToken,
    header: "",
    body: bytes,
  });
}

/** A batch or an atomic write, usually with one event that spoils it. */
function grouped(random: Random, known: Credentials): FuzzCase {
  const group = { id: random.uuid(), size: 1 + random.below(BATCH_MAX) };
  const event = `{"type":"was_viewed","data":{"group":"${group.id}"}}`;
  const events: string[] = Array.from({ length: group.size }, () => event);
  if (random.chance(0.7)) {
    const type = random.pick(["was_viewed", "was_stocked", "was_placed", "nowhere", "__proto__"]);
    // Data with a group would be counted; the corpus has none with a group.
    const spoiled = `{"type":"${type}","data":${random.pick(corpus.values)}}`;
    events.splice(random.below(events.length + 1), 0, spoiled);
  }
  const atomic = random.chance(0.5);
  const body = atomic
    ? atomicBody(random, events)
    : `{"events":[${events.join()}],"metadata":${ACTOR}}`;
  const path = atomic ? "/_atomic-write" : `/order/${random.uuid()}`;
  const bytes = request("POST", path, {
    token: known.writeKey,
    header: "",
    body: encoder.encode(body),
  });
  const cut = random.chance(0.1) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
  const pieces = split(random, cut);
  return { bytes: cut, pieces, complete: cut.length === bytes.length, group };
}

function atomicBody(random: Random, events: readonly string[]): string {
  const targets: string[] = [];
  const share = Math.ceil(events.length / (1 + random.below(10)));
  for (let at = 0; at < events.length; at += share) {
    const part = events.slice(at, at + share).join();
    const guard = random.chance(0.05) ? ',"previous_length":7' : "";
    const id = random.uuid();
    targets.push(`{"aggregate_type":"order","id":"${id}","events":[${part}]${guard}}`);
  }
  return `{"targets":[${targets.join()}],"metadata":${ACTOR}}`;
}

interface RequestParts {
  readonly token: string;
  readonly header: string;
  readonly body: Uint8Array;
}

function request(
  method: string,
  path: string,
  { token, header, body }: RequestParts,
): Uint8Array {
  const auth = /^authorization/i.test(header) ? "" : `Authorization: Bearer ${token}\r\n`;
  const type = /^content-type/i.test(header) ? "" : "Content-Type: application/json\r\n";
  const length = body.length > 0 || method !== "GET" ? `Content-Length: ${body.length}\r\n` : "";
  const head = `${method} ${path} HTTP/1.1\r\nHost: x\r\n${auth}${type}${length}${header}\r\n`;
  const start = latin1(head);
  const bytes = new Uint8Array(start.length + body.length);
  bytes.set(start);
  bytes.set(body, start.length);
  return bytes;
}

/** One to four changes: a byte altered, a stretch removed or doubled, or the end cut off. */
function mutate(random: Random, original: Uint8Array): Uint8Array {
  let bytes = [...original];
  for (let change = 0; change <= random.below(4); change++) {
    const at = random.below(bytes.length + 1);
    const stretch = bytes.slice(at, at + 1 + random.below(20));
    const kind = random.below(5);
    if (kind === 0) bytes[at] = random.below(256);
    else if (kind === 1) bytes.splice(at, stretch.length);
    else if (kind === 2) bytes.splice(at, 0, ...stretch);
    else if (kind === 3) bytes.splice(at, 0, random.pick([0, 10, 13, 34, 92, 123, 237, 255]));
    else bytes = bytes.slice(0, at);
  }
  return new Uint8Array(bytes);
}

/** Usually one piece; some cases arrive in up to six. */
function split(random: Random, bytes: Uint8Array): Uint8Array[] {
  if (random.chance(0.8)) return [bytes];
  const cuts = Array.from({ length: random.below(6) }, () => random.below(bytes.length + 1));
  const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

function fillIn(text: string, known: Credentials): string {
  return text.replaceAll("{{write}}", known.writeKey);
}

/** Characters above 255 lose their high byte: hostile input need not be text. */
function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff);
}
