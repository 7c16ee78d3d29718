/**
 * Calls a server for the commands. A refusal is a value, in the words of the API, with a hint that
 * says what to do about it at the command line.
 */

import type { Host } from "../../host.ts";
import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import type { Failure } from "../terminal/output.ts";
import { reasonOf } from "../terminal/settings.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export type As = "key" | "operator" | "nobody";

export interface Credentials {
  readonly key?: string;
  readonly token?: string;
}

export interface Call {
  readonly method?: "GET" | "POST" | "DELETE";
  /** The address of the server or environment, without a path. */
  readonly base: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: JsonObject | Uint8Array<ArrayBuffer>;
  readonly as: As;
  readonly headers?: Readonly<Record<string, string>>;
}

export type Answer =
  | { readonly ok: true; readonly status: number; readonly body: JsonObject }
  | { readonly ok: false; readonly failure: Failure };

const MS_PER_SECOND = 1_000;
const TEXT_SHOWN_MAX = 120;

/** Asks once, and reads the whole answer. */
export async function ask(host: Host, credentials: Credentials, call: Call): Promise<Answer> {
  const sent = await send(host, credentials, call);
  if (!(sent instanceof Response)) return { ok: false, failure: sent };
  const text = await sent.text();
  const body = parseObject(text);
  if (body === undefined && sent.status === 204) return { ok: true, status: 204, body: {} };
  if (body?.ok === true) return { ok: true, status: sent.status, body };
  const { status } = sent;
  const refused = { status, seen: body ?? text, nowMs: host.nowMs() };
  return { ok: false, failure: refusalOf(refused, call, credentials) };
}

/** Like `ask`, for an answer that is too long to be held, and is no JSON. */
export async function openStream(
  host: Host,
  credentials: Credentials,
  call: Call,
): Promise<
  | { readonly ok: true; readonly stream: ReadableStream<Uint8Array> }
  | { readonly ok: false; readonly failure: Failure }
> {
  const sent = await send(host, credentials, call);
  if (!(sent instanceof Response)) return { ok: false, failure: sent };
  if (sent.ok && sent.body !== null) return { ok: true, stream: sent.body };
  const text = await sent.text();
  const refused = { status: sent.status, seen: parseObject(text) ?? text, nowMs: host.nowMs() };
  return { ok: false, failure: refusalOf(refused, call, credentials) };
}

async function send(
  host: Host,
  credentials: Credentials,
  call: Call,
): Promise<Response | Failure> {
  const missing = missingCredential(call.as, credentials);
  if (missing !== undefined) return missing;
  const credential = call.as === "key" ? credentials.key : credentials.token;
  const headers = new Headers(call.headers);
  if (call.as !== "nobody") headers.set("authorization", `Bearer ${credential}`);
  const isJson = call.body !== undefined && !(call.body instanceof Uint8Array);
  if (isJson) headers.set("content-type", "application/json");
  const body = isJson ? JSON.stringify(call.body) : call.body as Uint8Array<ArrayBuffer>;
  try {
    const { method = "GET" } = call;
    return await host.fetch(new Request(urlOf(call), { method, headers, body }));
  } catch (error) {
    return unreachable(call.base, error);
  }
}

function urlOf({ base, path, query = {} }: Call): URL {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

export function missingCredential(as: As, { key, token }: Credentials): Failure | undefined {
  if (as === "key" && key === undefined) {
    return {
      error: "There is no API key for this environment.",
      error_type: "unauthorized",
      hint: "Set DAYBOOK_KEY, or issue one and keep it in the profile: " +
        "daybook keys issue <name> --scope write --save",
    };
  }
  if (as === "operator" && token === undefined) {
    return {
      error: "This needs an operator token, and there is none.",
      error_type: "unauthorized",
      hint: "Log in with: daybook login --url <address>, or set DAYBOOK_TOKEN.",
    };
  }
}

function unreachable(base: string, error: unknown): Failure {
  const reason = reasonOf(error instanceof Error ? error.cause ?? error : error);
  const isLocal = /^https?:\/\/(?:localhost|127\.|\[::1\])/.test(base);
  const refused = /refused/i.test(reason);
  const error_type = error instanceof DOMException && error.name === "TimeoutError"
    ? "timed_out"
    : "unreachable";
  return {
    error: refused ? `No server answers at ${base}.` : `${base} cannot be reached: ${reason}`,
    error_type,
    hint: isLocal
      ? "Start one with: deno task start, or daybook serve. Another address: --url, DAYBOOK_URL or --profile."
      : "Check the address (--url, DAYBOOK_URL or the profile) and the network.",
  };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

interface Seen {
  readonly status: number;
  readonly seen: JsonObject | string;
  readonly nowMs: number;
}

function refusalOf({ status, seen, nowMs }: Seen, call: Call, credentials: Credentials): Failure {
  if (typeof seen === "string" || seen.ok !== false || typeof seen.error === "undefined") {
    return notDaybook(call.base, status, seen);
  }
  const { ok: _, ...fields } = seen;
  const error = typeof fields.error === "string" ? fields.error : JSON.stringify(fields.error);
  const error_type = typeof fields.error_type === "string" ? fields.error_type : "refused";
  const hint = hintFor(status, { ...call, ...credentials, error, nowMs }) ?? fields.hint;
  return { ...fields, error, error_type, ...(typeof hint === "string" && { hint }), status };
}

function notDaybook(base: string, status: number, seen: JsonObject | string): Failure {
  const text = typeof seen === "string" ? seen.trim() : JSON.stringify(seen);
  const shown = text.length > TEXT_SHOWN_MAX ? `${text.slice(0, TEXT_SHOWN_MAX)}...` : text;
  return {
    error: `${base} does not answer like Daybook: ${status}${shown === "" ? "" : `, ${shown}`}`,
    error_type: "not_daybook",
    hint: "Check the address. A proxy in front of the server may have answered in its place.",
    status,
  };
}

interface Asked extends Credentials {
  readonly as: As;
  readonly base: string;
  readonly path: string;
  readonly error: string;
  readonly nowMs: number;
}

/** What to do at the command line; undefined leaves the hint of the server. */
function hintFor(status: number, asked: Asked): string | undefined {
  const { as, token, key, error, nowMs } = asked;
  if (status === 401 && as === "operator") {
    const ended = token === undefined ? undefined : expiryOf(token);
    const when = ended !== undefined && ended < nowMs
      ? `The operator token ended at ${new Date(ended).toISOString()}. `
      : "The server does not know the operator token; another server may have made it. ";
    return `${when}Get a new one with: daybook login, or set DAYBOOK_TOKEN.`;
  }
  if (status === 401 && as === "key") {
    return "The key is wrong, was revoked or rotated, or belongs to another server. Issue one " +
      "with: daybook keys issue <name> --scope write --save, or set DAYBOOK_KEY.";
  }
  if (status === 403 && as === "key") {
    const environment = key === undefined ? undefined : environmentOfKey(key);
    return environment === undefined
      ? "Use a key of this environment whose scope allows it (write includes read)."
      : `The key is one of ${environment}; ${asked.base} may be another environment, or the ` +
        "scope of the key does not allow this (write includes read).";
  }
  const isUnknown = /^Unknown (?:query parameter|field)|^Query parameter '.*' is not known/i;
  if (status === 400 && isUnknown.test(error)) {
    return "The server may be older than this command, and not know this option yet.";
  }
  if (status === 404 && as === "operator" && /^No such path|^Not found/i.test(error)) {
    return "The server may be older than this command, and not have this call yet.";
  }
}

/** The end of a JWT in milliseconds since 1970; undefined if it is not readable. */
export function expiryOf(token: string): number | undefined {
  try {
    const claims = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const { exp } = parseJson<{ exp?: unknown }>(atob(claims));
    return typeof exp === "number" ? exp * MS_PER_SECOND : undefined;
  } catch {
    return undefined;
  }
}

const KEY_FORM = /^dbk_\d+_(prod|staging|test)_[0-9A-Za-z]{20,}$/;

/** The environment that the text of an API key names; undefined if it is no key. */
export function environmentOfKey(key: string): "production" | "staging" | "test" | undefined {
  const name = KEY_FORM.exec(key)?.[1];
  return name === "prod" ? "production" : name as "staging" | "test" | undefined;
}
