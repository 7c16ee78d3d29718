/** The calls of a client that belong to no single aggregate; their names begin with `$`. */

import type {
  Anchor,
  AnyEvent,
  Delivery,
  DeliveryState,
  ErrorRecord,
  FeedPage,
  Freshness,
  Listener,
  NewEvent,
  Page,
  ProjectionRow,
  RowAnswer,
  Saga,
  SagaState,
  SagaSummary,
  Scheduled,
  SigningKey,
  SqlAnswer,
  WrittenAtomic,
} from "./answers.ts";
import type { ClientTypes } from "./client_types.ts";
import { type PlannedEvent, sendWrite, type WriteDefaults, type WriteOptions } from "./handle.ts";
import { itemsOf } from "./iterate.ts";
import {
  type FeedItem,
  type FeedOptions,
  type FeedPageOptions,
  followFeed,
  readFeedPage,
} from "./live_calls.ts";
import { type Call, callOf, type Refusal } from "./refusal.ts";
import { type Ask, type CallOptions, readFrom, type Transport } from "./transport.ts";

/** One aggregate of an atomic write. */
export type AtomicTarget<Types extends ClientTypes> = {
  readonly [Name in keyof Types["aggregates"] & string]: {
    readonly aggregate_type: Name;
    readonly id: string;
    readonly events: readonly NewEvent<Types["aggregates"][Name]["events"]>[];
    /** Writes only if the aggregate has exactly so many events. */
    readonly previous_length?: number;
  };
}[keyof Types["aggregates"] & string];

/** Options of a list: where it begins, and the size of a page. */
export interface ListPageOptions extends CallOptions {
  readonly start?: string;
  readonly limit?: number;
}

/** A list, whole or by pages. */
export interface Lists<Item, Options extends ListPageOptions = ListPageOptions> {
  /** All items, page by page, as far as they are wanted. Throws {@link DaybookError}. */
  list(options?: Options): AsyncIterableIterator<Item, void>;
  /** One page. */
  listPage(options?: Options): Call<Page<Item>>;
}

/** Which rows: also the last good ones of a broken projection. */
export interface RowsOptions extends ListPageOptions {
  readonly stale?: boolean;
}

/** Rows of projections. */
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

/** Which columns, and how texts are written that spreadsheets take for formulas. */
export interface CsvOptions extends CallOptions {
  readonly columns?: readonly string[];
  readonly formulas?: "keep" | "text";
  readonly stale?: boolean;
}

/** The rows as CSV, while they come. */
export interface CsvAnswer extends Freshness {
  readonly ok: true;
  readonly stream: ReadableStream<Uint8Array>;
}

/** Values for `?` and `?7`, or by name for `:name`, `@name` and `$name`. */
export type SqlParams =
  | readonly (string | number | boolean | null)[]
  | Readonly<Record<string, string | number | boolean | null>>;

/** What an environment can be asked as a whole. */
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
      const ask = { ...rest, method: "POST", path: "/_projections/query", body } as const;
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

type AtomicPart = PlannedEvent | AtomicTarget<ClientTypes>;

interface Target {
  readonly aggregate_type: string;
  readonly id: string;
  readonly events: { readonly type: string; readonly data?: object }[];
  previous_length?: number;
}

/** Events of one aggregate become one target, in the order in which they were given. */
async function writeAtomic(
  transport: Transport,
  parts: readonly AtomicPart[],
  options: WriteOptions<ClientTypes>,
): Promise<WrittenAtomic | Refusal> {
  const targets = new Map<string, Target>();
  for (const part of parts) {
    const { aggregate_type, id, previous_length } = part;
    const key = `${aggregate_type}:${id}`;
    const target = targets.get(key) ?? { aggregate_type, id, events: [], previous_length };
    if ((previous_length ?? target.previous_length) !== target.previous_length) {
      const error = `The events of '${key}' do not agree on previous_length`;
      return { ok: false, error_type: "bad_request", error, status: 0 };
    }
    target.events.push(
      ...("events" in part ? part.events : [{ type: part.type, data: part.data }]),
    );
    targets.set(key, target);
  }
  return await sendWrite(transport, "/_atomic-write", { targets: [...targets.values()] }, options);
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
