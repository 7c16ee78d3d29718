/**
 * Sends the requests of the client: credentials, timeouts, and tries again. What comes back is the
 * body of the answer or a refusal; nothing is thrown for what the network or the server does.
 */

import { createDeadlines } from "./deadlines.ts";
import { hintFor } from "./hints.ts";
import { type Call, callOf, type ErrorType, type Refusal, type RefusalFields } from "./refusal.ts";
import { RUNTIME_WORLD, sleep, type World } from "./world.ts";

/**
 * Parameters of a query; those that are undefined are left out.
 *
 * ```ts
 * import type { Query } from "@daybook/client";
 * const query: Query = { environment: "test", limit: 10, start: undefined };
 * console.log(Object.keys(query));
 * ```
 */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * What may be said about any call.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const controller = new AbortController();
 * const answer = db.order("main").get({ signal: controller.signal, timeoutMs: 500, retries: 0 });
 * controller.abort("no longer wanted");
 * const order = await answer;
 * if (!order.ok) console.log(order.error_type);
 * ```
 */
export interface CallOptions {
  /** Ends the call: its answer is then `aborted`. */
  readonly signal?: AbortSignal;
  /** How long one try may take, until its answer is read. */
  readonly timeoutMs?: number;
  /** How often the call is tried again after faults that pass. */
  readonly retries?: number;
}

/**
 * A request in the client's words.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { name, version } = await db.$request<{ ok: true; name: string; version: string }>({
 *   path: "/",
 * }).orThrow();
 * console.log(name, version);
 * ```
 */
export interface Ask extends CallOptions {
  readonly method?: "GET" | "POST" | "PATCH" | "DELETE";
  /** With its leading slash, encoded. */
  readonly path: string;
  readonly query?: Query;
  /** Sent as JSON; a `Blob` is sent as it is, with its type. */
  readonly body?: object;
  /** Whether it only reads, though it is a POST. */
  readonly isRead?: boolean;
  readonly idempotencyKey?: string;
  /** A call that must not take place twice: it is not sent again if it may have had its effect. */
  readonly once?: boolean;
  /** The content type of an answer that is read while it comes. */
  readonly accept?: string;
}

/**
 * What a client needs to reach its server.
 *
 * ```ts
 * import { createClient } from "@daybook/client";
 * import { readFile } from "node:fs/promises";
 * const db = createClient({
 *   url: "http://127.0.0.1:8002",
 *   // Asked for before each try, so that a new key is used at once.
 *   key: async () => (await readFile("/run/secrets/daybook", "utf8")).trim(),
 * });
 * console.log(db.order!("main").$key);
 * ```
 */
export interface TransportOptions extends CallOptions {
  /** The address of an environment, such as `https://shop.example.com`. */
  readonly url: string | URL;
  /** An API key or an operator token, or a function that is asked for it before each try. */
  readonly key?: string | (() => string | Promise<string>);
  /** With an operator token: the instance whose data is read. Writes need an API key. */
  readonly instanceId?: string;
  /** Used instead of the runtime's `fetch`. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Is told of each fault after which a call is tried again. */
  readonly onRetry?: (refusal: Refusal, waitMs: number) => void;
  /** Clock, chance and timers. Default: the runtime's. */
  readonly world?: Partial<World>;
}

/** The way to one server. */
export interface Transport {
  readonly world: World;
  /** Sends, and reads the answer as JSON that begins with `ok`. */
  send<Value extends { readonly ok: true }>(ask: Ask, take?: Take<Value>): Promise<Value | Refusal>;
  /** Sends, and gives the answer once its head is there. The signal ends it, then, too. */
  open(ask: Ask & { readonly accept: string }): Promise<Opened | Refusal>;
}

/** An answer that is read while it comes. */
export interface Opened {
  readonly ok: true;
  readonly body: ReadableStream<Uint8Array>;
  readonly headers: Headers;
  /** Ends the connection. */
  close(): void;
}

/** Makes the value of a call from its answer. */
export type Take<Value> = (body: Value, headers: Headers) => Value;

/** Reads an answer, or keeps it for a caller who closes it. */
type Read<Value> = (response: Response, close: () => void) => Promise<Value | Refusal>;

/** One try: what it gave, and how long the server wants the client to wait. */
interface Tried<Value> {
  readonly answer: Value | Refusal;
  readonly retryAfterMs?: number;
}

const TIMEOUT_MS = 30_000;
const RETRIES = 5;
const FIRST_PAUSE_MS = 200;
const PAUSE_MS_MAX = 10_000;
/** A longer wait is left to the caller. */
const RETRY_AFTER_MS_MAX = 61_000;
const PASSING: ReadonlySet<string> = new Set<ErrorType>([
  "idempotency_in_progress",
  "rate_limited",
  "timed_out",
  "unavailable",
  "unreachable",
]);
/** Of servers in front of the service, and of bodies that came too slowly. */
const PASSING_STATUS: ReadonlySet<number> = new Set([408, 502, 503, 504]);

export function createTransport(options: TransportOptions): Transport {
  const world: World = {
    ...RUNTIME_WORLD,
    ...options.world,
    ...(options.fetch && { fetch: options.fetch }),
  };
  const base = baseOf(options.url);
  const deadline = createDeadlines(world);

  /** Tries until there is an answer that another try would not change. */
  async function persist<Value>(
    ask: Ask,
    read: Read<Value>,
  ): Promise<Value | Refusal> {
    const { retries = options.retries ?? RETRIES, signal } = ask;
    const isRead = ask.isRead || (ask.method ?? "GET") === "GET";
    const instance = isRead ? options.instanceId : undefined;
    const url = `${base}${ask.path}${queryText(ask.query, instance)}`;
    const text = ask.body instanceof Blob ? ask.body : ask.body && JSON.stringify(ask.body);
    for (let tries = 0;; tries++) {
      const { answer, retryAfterMs = 0 } = await once(ask, url, text, read);
      const refusal = answer as Refusal;
      if (refusal.ok !== false || tries >= retries || !mayPass(ask, refusal)) {
        return answer;
      }
      if (retryAfterMs > RETRY_AFTER_MS_MAX) return answer;
      const spreadMs = Math.min(PAUSE_MS_MAX, FIRST_PAUSE_MS * 2 ** tries);
      const waitMs = retryAfterMs + world.random() * spreadMs;
      options.onRetry?.(refusal, waitMs);
      if (!await sleep(world, waitMs, signal)) return abortedBy(ask);
    }
  }

  async function once<Value>(
    ask: Ask,
    url: string,
    body: string | Blob | undefined,
    read: Read<Value>,
  ): Promise<Tried<Value>> {
    const { signal, idempotencyKey, accept } = ask;
    if (signal?.aborted) return { answer: abortedBy(ask) };
    const controller = new AbortController();
    let isLate = false;
    let isKept = false;
    const onAbort = () => controller.abort(signal!.reason);
    const release = () => signal?.removeEventListener("abort", onAbort);
    signal?.addEventListener("abort", onAbort);
    const timeoutMs = ask.timeoutMs ?? options.timeoutMs ?? TIMEOUT_MS;
    const cancel = deadline(timeoutMs, () => {
      isLate = true;
      controller.abort();
    });
    try {
      const key = typeof options.key === "function" ? await options.key() : options.key;
      const headers: Record<string, string> = {};
      if (key !== undefined) headers.authorization = `Bearer ${key}`;
      if (body !== undefined) headers["content-type"] = (body as Blob).type ?? "application/json";
      if (accept !== undefined) headers.accept = accept;
      if (idempotencyKey !== undefined) headers["x-idempotency-key"] = idempotencyKey;
      const { method = "GET" } = ask;
      // A redirect would make a read of a write.
      const init = {
        method,
        headers,
        body,
        redirect: "manual",
        signal: controller.signal,
      } as const;
      const response = await world.fetch(url, init);
      const answer = await read(response, () => {
        release();
        controller.abort();
      });
      const isRefused = (answer as { ok?: boolean }).ok === false;
      isKept = accept !== undefined && !isRefused;
      // Looking at headers costs more than all else that is done with an answer.
      return isRefused ? { answer, retryAfterMs: retryAfterMsOf(response) } : { answer };
    } catch (cause) {
      if (isLate) return { answer: fault(ask, "timed_out", `No answer within ${timeoutMs} ms`) };
      if (controller.signal.aborted) return { answer: abortedBy(ask) };
      return { answer: await unreachable(ask, cause) };
    } finally {
      cancel();
      if (!isKept) release();
    }
  }

  /** The body of an answer, or why it is a refusal. */
  async function readBody(ask: Ask, response: Response): Promise<Record<string, unknown>> {
    if (response.status === 204) return { ok: true };
    const text = await response.text();
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      // What follows says so.
    }
    if (body?.ok === true) return body;
    if (body?.ok === false && body.error_type !== undefined) return refusalOf(ask, response, body);
    return notDaybook(ask, response, text) as unknown as Record<string, unknown>;
  }

  function refusalOf(
    { method = "GET", path }: Ask,
    response: Response,
    body: Record<string, unknown>,
  ): Record<string, unknown> {
    const { status } = response;
    const request_id = response.headers.get("x-request-id") ?? undefined;
    const refusal = { ...body, status, request_id } as Record<string, unknown>;
    const text = String(body.error);
    if (typeof body.error === "object" && body.error !== null) {
      refusal.handler_error = body.error;
      refusal.error = (body.error as { message?: unknown }).message;
    } else if (
      (status === 404 && text === "No such path") ||
      (status === 400 && text.startsWith("Unknown query parameter"))
    ) {
      refusal.error_type = "unsupported";
      refusal.error = `The server does not know ${method} ${path} as this client asks it: ${text}`;
    }
    refusal.hint ??= hintFor(refusal as { error: string; error_type: string });
    return refusal;
  }

  function notDaybook(ask: Ask, response: Response, text: string): Refusal {
    const { status, type, headers } = response;
    if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const to = headers.get("location") ?? "another address";
      return fault(ask, "not_daybook", `${base} redirects to ${to}`, { status });
    }
    const begin = text.trim().slice(0, 60).replace(/\s+/g, " ");
    const what = `${base} answers ${status} with something that is not Daybook's: ${
      begin || "nothing"
    }`;
    return fault(ask, "not_daybook", what, { status });
  }

  async function unreachable(ask: Ask, cause: unknown): Promise<Refusal> {
    if (await isCorsFault(ask)) {
      const text = "The browser does not let this page send the request to another origin";
      return fault(ask, "cors_refused", text, { cause });
    }
    const { message, cause: inner } = cause as { message?: string; cause?: { message?: string } };
    const why = inner?.message || message || String(cause);
    return fault(ask, "unreachable", `No answer from ${base}: ${why}`, { cause });
  }

  /** Whether only the form of the request keeps a page from reaching the server. */
  async function isCorsFault({ method = "GET", idempotencyKey }: Ask): Promise<boolean> {
    const { location } = globalThis as { location?: { origin?: string; protocol?: string } };
    const isPage = "document" in globalThis || "WorkerGlobalScope" in globalThis;
    const isForeign = isPage && /^http/.test(location?.protocol ?? "") &&
      location?.origin !== new URL(base).origin;
    if (!isForeign || (idempotencyKey === undefined && !/PATCH|DELETE/.test(method))) return false;
    // The server answers, but not a request with the header that only such pages may not send.
    const answers = (headers: Record<string, string>) =>
      world.fetch(`${base}/`, { method: "GET", headers }).then(() => true, () => false);
    return await answers({}) && !await answers({ "x-idempotency-key": "probe" });
  }

  function fault<Type extends ErrorType>(
    { idempotencyKey: idempotency_key }: Ask,
    error_type: Type,
    error: string,
    fields: Partial<RefusalFields[Type]> & { status?: number } = {},
  ): Refusal {
    const refusal = { ok: false, error, error_type, status: 0, idempotency_key, ...fields };
    return { ...refusal, hint: hintFor(refusal) } as unknown as Refusal;
  }

  function abortedBy(ask: Ask): Refusal {
    const { reason: cause } = ask.signal!;
    return fault(ask, "aborted", "The call was aborted by its signal", { cause });
  }

  return {
    world,
    send<Value extends { readonly ok: true }>(ask: Ask, take?: Take<Value>) {
      return persist<Value>(ask, async (response) => {
        const body = await readBody(ask, response) as unknown as Value | Refusal;
        return body.ok && take !== undefined ? take(body, response.headers) : body;
      });
    },
    open(ask) {
      return persist<Opened>(ask, async (response, close) => {
        const { status, headers, body } = response;
        const isWanted = status === 200 && headers.get("content-type")?.includes(ask.accept);
        if (isWanted && body !== null) return { ok: true, body, headers, close };
        return await readBody(ask, response) as unknown as Refusal;
      });
    },
  };
}

function retryAfterMsOf({ headers }: Response): number {
  return Number(headers.get("retry-after")) * 1000 || 0;
}

function mayPass({ accept, once }: Ask, { error_type, status }: Refusal): boolean {
  if (once) return error_type === "rate_limited" || error_type === "unavailable";
  // A stream that does not begin is held back on the way, and will be again.
  if (accept !== undefined && error_type === "timed_out") return false;
  return PASSING.has(error_type) || (error_type === "not_daybook" && PASSING_STATUS.has(status)) ||
    status === 408;
}

function baseOf(url: string | URL): string {
  const text = String(url).replace(/\/+$/, "");
  if (/^https?:\/\/[^/?#\s]+[^?#\s]*$/.test(text)) return text;
  throw new TypeError(`url must be an address such as http://127.0.0.1:8002, not "${url}"`);
}

function queryText(query: Query | undefined, instanceId: string | undefined): string {
  let text = instanceId === undefined ? "" : `&instance_id=${encodeURIComponent(instanceId)}`;
  for (const name in query) {
    const value = query[name];
    if (value !== undefined) text += `&${name}=${encodeURIComponent(value)}`;
  }
  return text && `?${text.slice(1)}`;
}

/** Sends a read. Options that say nothing about the call itself are parameters of its query. */
export function readFrom<Answer extends { readonly ok: true }>(
  transport: Transport,
  path: string,
  options: CallOptions = {},
  take?: Take<Answer>,
): Call<Answer> {
  const { signal, timeoutMs, retries, ...query } = options;
  const ask = { path, query: query as Query, signal, timeoutMs, retries };
  return callOf(transport.send<Answer>(ask, take));
}
