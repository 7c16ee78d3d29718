/** The calls of a client that belong to no single aggregate; their names begin with `$`. */

import type { AnyEvent, FeedPage, Page, WrittenAtomic } from "./answers.ts";
import { type AtomicPart, type AtomicTarget, writeAtomic } from "./atomic.ts";
import type { ClientTypes } from "./client_types.ts";
import type { PlannedEvent, WriteDefaults, WriteOptions } from "./handle.ts";
import { itemsOf } from "./iterate.ts";
import {
  type FeedItem,
  type FeedOptions,
  type FeedPageOptions,
  followFeed,
  readFeedPage,
} from "./live_calls.ts";
import { type Call, callOf, type Refusal } from "./refusal.ts";
import type {
  Anchor,
  Delivery,
  DeliveryState,
  ErrorRecord,
  Freshness,
  Listener,
  ProjectionRow,
  RowAnswer,
  Saga,
  SagaState,
  SagaSummary,
  Scheduled,
  SigningKey,
  SqlAnswer,
  TypeCount,
} from "./wide_answers.ts";
import { type Ask, type CallOptions, readFrom, type Transport } from "./transport.ts";

/**
 * Options of a list: where it begins, and the size of a page.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const records = await db.$errors.listPage({ limit: 5 }).orThrow();
 * console.log(records.truncated, records.next_start);
 * ```
 */
export interface ListPageOptions extends CallOptions {
  readonly start?: string;
  readonly limit?: number;
}

/**
 * A list, whole or by pages.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { Lists } from "@daybook/client";
 * async function count(list: Lists<unknown>): Promise<number> {
 *   let items = 0;
 *   for await (const _ of list.list()) items++;
 *   return items;
 * }
 * console.log(await count(db.$sagas), await count(db.$scheduled));
 * ```
 */
export interface Lists<Item, Options extends ListPageOptions = ListPageOptions> {
  /** All items, page by page, as far as they are wanted. Throws {@link DaybookError}. */
  list(options?: Options): AsyncIterableIterator<Item, void>;
  /** One page. */
  listPage(options?: Options): Call<Page<Item>>;
}

/**
 * Which rows: also the last good ones of a broken projection.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const page = await db.$projections.rowsPage("order_totals", { limit: 10, stale: true });
 * if (!page.ok && page.error_type === "not_found") console.log(page.hint);
 * ```
 */
export interface RowsOptions extends ListPageOptions {
  readonly stale?: boolean;
}

/**
 * Rows of projections.
 *
 * ```ts
 * import { db } from "./db.ts";
 * for await (const { data, metadata } of db.$projections.rows("order_totals")) {
 *   console.log(metadata.key, data.total);
 * }
 * ```
 */
export interface ProjectionCalls {
  /** One row, by the id of its aggregate. */
  row<Row = Record<string, unknown>>(
    projection: string,
    key: string,
    options?: CallOptions & { readonly synchronous?: boolean; readonly stale?: boolean },
  ): Call<RowAnswer<Row>>;
  /** All rows, by key. Throws {@link DaybookError}. */
  rows<Row = Record<string, unknown>>(
    projection: string,
    options?: RowsOptions,
  ): AsyncIterableIterator<ProjectionRow<Row>, void>;
  /** One page of them. */
  rowsPage<Row = Record<string, unknown>>(
    projection: string,
    options?: RowsOptions,
  ): Call<Page<ProjectionRow<Row>> & Freshness>;
  /** All rows as CSV, to be read while they come. A failure on the way fails the stream. */
  csv(projection: string, options?: CsvOptions): Call<CsvAnswer>;
}

/**
 * Which columns, and how texts are written that spreadsheets take for formulas.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const csv = await db.$projections.csv("order_totals", { columns: ["total"], formulas: "text" });
 * if (csv.ok) console.log(await new Response(csv.stream).text());
 * ```
 */
export interface CsvOptions extends CallOptions {
  readonly columns?: readonly string[];
  readonly formulas?: "keep" | "text";
  readonly stale?: boolean;
}

/**
 * All rows of a projection as CSV, while they come.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const csv = await db.$projections.csv("order_totals");
 * if (csv.ok) { for await (const bytes of csv.stream) console.log(bytes.length); }
 * ```
 */
export interface CsvAnswer extends Freshness {
  readonly ok: true;
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * Values for `?` and `?7`, or by name for `:name`, `@name` and `$name`.
 *
 * ```ts
 * import { db } from "./db.ts";
 * import type { SqlParams } from "@daybook/client";
 * const params: SqlParams = { least: 10 };
 * await db.$sql("SELECT customer FROM order_totals WHERE total > :least", params);
 * ```
 */
export type SqlParams =
  | readonly (string | number | boolean | null)[]
  | Readonly<Record<string, string | number | boolean | null>>;

/**
 * What an environment can be asked as a whole.
 *
 * ```ts
 * import { db } from "./db.ts";
 * const { data } = await db.$errors.listPage().orThrow();
 * const { public_key } = await db.$audit.signingKey().orThrow();
 * console.log(data.length, public_key);
 * ```
 */
export interface WideCalls<Types extends ClientTypes> {
  /** Writes to up to ten aggregates: everything or nothing. */
  $atomic(
    events: readonly (PlannedEvent | AtomicTarget<Types>)[],
    options?: Omit<WriteOptions<Types>, "previous_length">,
  ): Call<WrittenAtomic>;

  /**
   * Every event of the environment in the order of the commits, and then those that come. It goes
   * on by itself when connections end, and is at an end only when the consumer leaves it. Throws
   * {@link DaybookError}.
   */
  $feed<Raw extends boolean = false, Notices extends boolean = false>(
    options?: FeedOptions<Types, Raw, Notices>,
  ): AsyncIterableIterator<FeedItem<Types, Raw, Notices>, void>;

  /** One page of them. */
  $feedPage<Raw extends boolean = false>(
    options?: FeedPageOptions<Types, Raw>,
  ): Call<FeedPage<AnyEvent<Types, Raw>>>;

  /** Runs one SELECT over projections; `Row` is what the query gives. */
  $sql<Row = Record<string, unknown>>(
    sql: string,
    params?: SqlParams,
    options?: CallOptions & { readonly stale?: boolean },
  ): Call<SqlAnswer<Row>>;

  readonly $projections: ProjectionCalls;

  /** How many aggregates and events each type has, counted from the log of the feed. */
  readonly $types: Lists<TypeCount>;

  readonly $sagas:
    & Lists<SagaSummary, ListPageOptions & { readonly name?: string; readonly state?: SagaState }>
    & {
      get(id: string, options?: CallOptions): Call<{ readonly ok: true; readonly saga: Saga }>;
    };

  readonly $scheduled: Lists<Scheduled> & {
    get(id: string, options?: CallOptions): Call<
      { readonly ok: true; readonly scheduled: Scheduled }
    >;
    /** Cancels it. If it has fired or was cancelled, also by a lost try: `not_found`. */
    cancel(id: string, options?: CallOptions): Call<{ readonly ok: true }>;
  };

  readonly $errors: Lists<ErrorRecord> & {
    get(id: string, options?: CallOptions): Call<
      { readonly ok: true; readonly error: ErrorRecord }
    >;
  };

  readonly $listeners: Lists<Listener> & {
    /** The deliveries of a listener and their outcomes. Throws {@link DaybookError}. */
    deliveries(
      listener: string,
      options?: ListPageOptions & { readonly state?: DeliveryState },
    ): AsyncIterableIterator<Delivery, void>;
    deliveriesPage(
      listener: string,
      options?: ListPageOptions & { readonly state?: DeliveryState },
    ): Call<Page<Delivery>>;
  };

  readonly $audit: {
    /** Every anchor, newest first. Throws {@link DaybookError}. */
    anchors(options?: ListPageOptions): AsyncIterableIterator<Anchor, void>;
    anchorsPage(options?: ListPageOptions): Call<Page<Anchor>>;
    /** One anchor by its id, or the newest as `latest`. */
    anchor(id: string, options?: CallOptions): Call<{ readonly ok: true; readonly anchor: Anchor }>;
    /** The key that signs anchors; with `all` earlier ones, too. */
    signingKey(options?: CallOptions & { readonly all?: boolean }): Call<SigningKey>;
    /** The newest anchor over all instances. */
    platformAnchor(options?: CallOptions): Call<
      { readonly ok: true; readonly anchor: Readonly<Record<string, unknown>> }
    >;
    platformKey(options?: CallOptions): Call<SigningKey>;
  };

  /** Any call of the API, for those that have no method here. The answer is not checked. */
  $request<Answer extends { readonly ok: true }>(ask: Omit<Ask, "controller">): Call<Answer>;
}

export function createWide(transport: Transport, defaults: WriteDefaults): object {
  function read<Answer extends { readonly ok: true }>(path: string, options?: CallOptions) {
    return readFrom<Answer>(transport, path, options, withLag);
  }

  function lists<Item>(path: string) {
    const listPage = (options?: CallOptions) => read<Page<Item>>(path, options);
    return {
      listPage,
      list: (options: ListPageOptions = {}) =>
        itemsOf(options, (place) => listPage({ ...options, ...place })),
    };
  }

  const oneOf = (path: string) => ({
    ...lists(path),
    get: (id: string, options?: CallOptions) => read(`${path}/${encodeURIComponent(id)}`, options),
  });

  const deliveries = (listener: string) =>
    lists<Delivery>(`/_listeners/${encodeURIComponent(listener)}/deliveries`);
  const rows = (projection: string) =>
    lists<ProjectionRow<unknown>>(`/_projections/${encodeURIComponent(projection)}`);
  const anchors = lists<Anchor>("/_audit/anchors");

  return {
    $feed: (options?: FeedOptions<ClientTypes, boolean, boolean>) => followFeed(transport, options),
    $feedPage: (options?: FeedPageOptions<ClientTypes, boolean>) =>
      readFeedPage(transport, options),
    $atomic: (events: readonly AtomicPart[], options?: WriteOptions<ClientTypes>) =>
      callOf(writeAtomic(transport, events, { ...defaults, ...options })),
    $sql: (sql: string, params?: SqlParams, options: CallOptions & { stale?: boolean } = {}) => {
      const { stale, ...rest } = options;
      const body = { sql, params, stale };
      const path = "/_projections/query";
      const ask = { ...rest, method: "POST", isRead: true, path, body } as const;
      return callOf(transport.send<SqlAnswer<unknown>>(ask, withLag));
    },
    $projections: {
      row: (projection: string, key: string, options?: CallOptions) => {
        const path = `/_projections/${encodeURIComponent(projection)}/${encodeURIComponent(key)}`;
        return read(path, options);
      },
      rows: (projection: string, options?: RowsOptions) => rows(projection).list(options),
      rowsPage: (projection: string, options?: CallOptions) => rows(projection).listPage(options),
      csv: (projection: string, options?: CsvOptions) =>
        callOf(openCsv(transport, projection, options)),
    },
    $types: lists("/_types"),
    $sagas: oneOf("/_sagas"),
    $scheduled: {
      ...oneOf("/_scheduled"),
      cancel: (id: string, options?: CallOptions) => {
        const path = `/_scheduled/${encodeURIComponent(id)}`;
        return callOf(transport.send({ ...options, method: "DELETE", path }));
      },
    },
    $errors: oneOf("/_errors"),
    $listeners: {
      ...lists("/_listeners"),
      deliveries: (listener: string, options?: ListPageOptions) =>
        deliveries(listener).list(options),
      deliveriesPage: (listener: string, options?: CallOptions) =>
        deliveries(listener).listPage(options),
    },
    $audit: {
      anchors: anchors.list,
      anchorsPage: anchors.listPage,
      anchor: (id: string, options?: CallOptions) =>
        read(`/_audit/anchors/${encodeURIComponent(id)}`, options),
      signingKey: (options?: CallOptions) => read("/_audit/signing-key", options),
      platformAnchor: (options?: CallOptions) => read("/_audit/platform-anchors/latest", options),
      platformKey: (options?: CallOptions) => read("/_audit/platform-key", options),
    },
    $request: (ask: Ask) => callOf(transport.send(ask)),
  };
}

async function openCsv(
  transport: Transport,
  projection: string,
  { columns, signal, timeoutMs, retries, ...query }: CsvOptions = {},
): Promise<CsvAnswer | Refusal> {
  const opened = await transport.open({
    path: `/_projections/${encodeURIComponent(projection)}/export.csv`,
    query: { ...query, columns: columns?.join() },
    accept: "text/csv",
    signal,
    timeoutMs,
    retries,
  });
  if (!opened.ok) return opened;
  return withLag({ ok: true, stream: opened.body }, opened.headers);
}

/** Adds what the headers say of rows that are behind. Their prefix is a setting of the server. */
function withLag<Answer extends { readonly ok: true }>(answer: Answer, headers: Headers): Answer {
  for (const [name, value] of headers) {
    if (name.endsWith("-projection-lag")) return { ...answer, lag: Number(value) };
  }
  return answer;
}
