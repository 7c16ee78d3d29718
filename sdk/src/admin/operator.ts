/**
 * Who asks: an operator with a token, or with an account that gets one. And about which instance,
 * which is found out if there is only one.
 */

import type { Page } from "../core/answers.ts";
import { itemsOf } from "../core/iterate.ts";
import { type Call, callOf, type Refusal } from "../core/refusal.ts";
import {
  type Ask,
  type CallOptions,
  createTransport,
  type Query,
  type TransportOptions,
} from "../core/transport.ts";
import type { Environment, Instance } from "./answers.ts";

/**
 * Where the server is, and who asks.
 *
 * @example
 * ```ts
 * import type { AdminOptions } from "@daybook/client/admin";
 *
 * const options: AdminOptions = {
 *   url: "http://127.0.0.1:8002",
 *   login: { email: "ada@example.com", password: "correct horse battery" },
 * };
 * console.log(options.url);
 * ```
 */
export interface AdminOptions extends Omit<TransportOptions, "key" | "instanceId"> {
  /** An operator token, or a function that is asked for it. */
  readonly token?: TransportOptions["key"];
  /** In place of a token: an account. It is logged in when needed, and before its token ends. */
  readonly login?: { readonly email: string; readonly password: string };
  /** The instance that is meant; not needed if the token covers only one. */
  readonly instanceId?: string;
  /** An API key with the scope `write`, for the two calls that no token may make. */
  readonly key?: TransportOptions["key"];
}

/**
 * Which environment a call is about, beside what may be said about any call.
 *
 * @example
 * ```ts
 * import type { InEnvironment } from "@daybook/client/admin";
 *
 * const options: InEnvironment = { environment: "staging", timeoutMs: 5_000 };
 * console.log(options.environment);
 * ```
 */
export interface InEnvironment extends CallOptions {
  /** Default: the environment of the address. */
  readonly environment?: Environment;
}

/**
 * Where a list begins, and the size of a page.
 *
 * @example
 * ```ts
 * import type { PageOptions } from "@daybook/client/admin";
 *
 * const options: PageOptions = { environment: "test", limit: 10 };
 * console.log(options.limit);
 * ```
 */
export interface PageOptions extends InEnvironment {
  readonly start?: string;
  readonly limit?: number;
}

type Answer = { readonly ok: true };

/** How the groups of calls ask the server. */
export interface Operator {
  /** Asks about no instance in particular. */
  ask<Value extends Answer>(ask: Ask): Call<Value>;
  /** Asks about the instance; `place` says where its id stands. */
  askInstance<Value extends Answer>(place: Place, ask: AskInstance): Call<Value>;
  /** A list about the instance, as an iterator and by pages. */
  lists<Item>(place: Place, path: string): ListCalls<Item>;
  /** Asks with the API key. */
  askWithKey<Value extends Answer>(ask: Ask): Call<Value>;
  newId(): string;
}

/**
 * Where the id of the instance stands. `path`: `/api/instances/{id}` stands before the path.
 * `fields`: as `instance_id` in the body or the query. `data`: as `instance_id` in the query of a
 * call whose environment is that of the address.
 */
export type Place = "path" | "fields" | "data";

/** A request about an instance; options of the environment are part of the call. */
export interface AskInstance extends Omit<Ask, keyof CallOptions> {
  readonly options?: InEnvironment;
}

/**
 * A list, whole or by pages.
 *
 * @example
 * ```ts
 * import { type ApiKey, createAdmin, type ListCalls } from "@daybook/client/admin";
 *
 * const keys: ListCalls<ApiKey> = createAdmin({ url: "http://127.0.0.1:8002", token: "..." }).keys;
 * console.log(typeof keys.list); // function
 * ```
 */
export interface ListCalls<Item> {
  /** All items, page by page, as far as they are wanted. Throws `DaybookError`. */
  list(options?: PageOptions): AsyncIterableIterator<Item, void>;
  /** One page. */
  listPage(options?: PageOptions): Call<Page<Item>>;
}

interface LoggedIn extends Answer {
  readonly token: string;
  readonly expires_at: string;
}

/** A token is replaced so long before it ends, or in the middle of a shorter life. */
const RENEWED_BEFORE_MS = 60_000;

export function createOperator(options: AdminOptions): Operator {
  const { token, login, instanceId, key, ...rest } = options;
  let session: Promise<LoggedIn | Refusal> | undefined;
  let latest: string | undefined;
  let renewAtMs = Infinity;
  let found = instanceId;
  const anonymous = createTransport(rest);
  const transport = createTransport({ ...rest, key: login === undefined ? token : () => latest! });
  const withKey = createTransport({ ...rest, ...(key !== undefined && { key }) });
  const { now } = transport.world;

  /** Sees to it that there is a token; or gives the refusal of the login. */
  async function enter({ signal, timeoutMs, retries }: CallOptions): Promise<Refusal | undefined> {
    if (login === undefined) return undefined;
    if (session === undefined || now() >= renewAtMs) {
      renewAtMs = Infinity;
      const ask = { method: "POST", path: "/api/login", body: login } as const;
      session = anonymous.send<LoggedIn>({ ...ask, signal, timeoutMs, retries });
    }
    const own = session;
    const entered = await own;
    if (own !== session) return undefined;
    if (!entered.ok) {
      session = undefined;
      return entered;
    }
    if (latest !== entered.token) {
      latest = entered.token;
      const lifeMs = Date.parse(entered.expires_at) - Date.now();
      renewAtMs = now() + Math.max(lifeMs - RENEWED_BEFORE_MS, lifeMs / 2);
    }
    return undefined;
  }

  async function send<Value extends Answer>(ask: Ask): Promise<Value | Refusal> {
    return await enter(ask) ?? await transport.send<Value>(ask);
  }

  /** The instance that is meant, if none was given: the only one there is. */
  async function instance(call: CallOptions): Promise<{ ok: true; id: string } | Refusal> {
    if (found !== undefined) return { ok: true, id: found };
    const { signal, timeoutMs, retries } = call;
    const ask = { path: "/api/instances", query: { limit: 2 }, signal, timeoutMs, retries };
    const page = await send<Page<Instance>>(ask);
    if (!page.ok) return page;
    if (page.data.length === 1) return { ok: true, id: found = page.data[0]!.id };
    const error = page.data.length === 0
      ? "The token covers no instance"
      : "There are several instances";
    return {
      ok: false,
      error_type: "bad_request",
      error,
      status: 0,
      hint: "Give createAdmin the `instanceId` that is meant",
    };
  }

  async function sendAbout<Value extends Answer>(
    place: Place,
    { options = {}, path, query, body, ...ask }: AskInstance,
  ): Promise<Value | Refusal> {
    const { environment, signal, timeoutMs, retries, ...more } = options;
    const known = await instance(options);
    if (!known.ok) return known;
    const calls = { ...ask, signal, timeoutMs, retries };
    const named = {
      ...(place !== "data" && { environment }),
      ...(place !== "path" && { instance_id: known.id }),
    };
    const inBody = body !== undefined && !(body instanceof Blob);
    return await send<Value>({
      ...calls,
      path: place === "path" ? `/api/instances/${known.id}${path}` : path,
      query: { ...query, ...more as Query, ...(!inBody && named) },
      body: inBody ? { ...body, ...named } : body,
    });
  }

  function lists<Item>(place: Place, path: string): ListCalls<Item> {
    const listPage = (options?: PageOptions) =>
      callOf(sendAbout<Page<Item>>(place, { path, options }));
    return {
      listPage,
      list: (options: PageOptions = {}) =>
        itemsOf(options, (at) => listPage({ ...options, ...at })),
    };
  }

  return {
    ask: (ask) => callOf(send(ask)),
    askInstance: (place, ask) => callOf(sendAbout(place, ask)),
    lists,
    askWithKey: (ask) => callOf(withKey.send(ask)),
    newId: () => transport.world.newIdempotencyKey(),
  };
}
