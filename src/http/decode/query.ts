/** Decodes query parameters of reads: flags, counts and cursors. */

import { MILLISECONDS_FROM } from "../../domain/write/metadata.ts";
import type { ListAggregatesRequest, ReadEventsRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { DELIVERY_STATES, type DeliveryState } from "../../domain/listener/delivery.ts";
import { SAGA_STATES, type SagaState } from "../../domain/saga/instance.ts";

const DECIMAL = /^[0-9]+$/;

/** A flag's value: `true`, `1` and empty mean true; `false`, `0` and absent mean false. */
export function readFlag(query: URLSearchParams, name: string): Outcome<boolean> {
  const text = query.get(name);
  if (text === null || text === "false" || text === "0") return accept(false);
  if (text === "true" || text === "1" || text === "") return accept(true);
  return badQuery(name, "must be true or false");
}

/** A whole number of at least 1; undefined if absent. Large values are clamped later. */
export function readCount(query: URLSearchParams, name: string): Outcome<number | undefined> {
  const text = query.get(name);
  if (text === null) return accept(undefined);
  const count = DECIMAL.test(text) ? Number(text) : 0;
  return count >= 1 ? accept(count) : badQuery(name, "must be a positive integer");
}

/** Unix seconds; undefined if absent. */
export function readSeconds(query: URLSearchParams, name: string): Outcome<number | undefined> {
  const text = query.get(name);
  if (text === null) return accept(undefined);
  const seconds = DECIMAL.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(seconds)) {
    return badQuery(name, "must be a non-negative integer (Unix seconds)");
  }
  if (seconds < MILLISECONDS_FROM) return accept(seconds);
  return badQuery(name, "is in milliseconds: it must be in Unix seconds");
}

/** Refuses the query parameter `name`. */
export function badQuery(name: string, rule: string) {
  const message = `Query parameter '${name}' ${rule}`;
  return refuse({ kind: "bad_request", message, path: name });
}

export interface AggregateQuery {
  readonly synchronous: boolean;
  readonly atSeconds?: number;
}

/** `GET /{type}/{id}`. */
export function decodeAggregateQuery(text: string): Outcome<AggregateQuery> {
  if (text === "") return accept({ synchronous: false });
  const query = new URLSearchParams(text);
  const synchronous = readFlag(query, "synchronous");
  if (!synchronous.ok) return synchronous;
  const at = readSeconds(query, "at");
  if (!at.ok) return at;
  return accept({ synchronous: synchronous.value, atSeconds: at.value });
}

export type EventsQuery = Pick<ReadEventsRequest, "start" | "count" | "direction"> & {
  readonly raw: boolean;
};

/** `GET /{type}/{id}/events`. */
export function decodeEventsQuery(text: string): Outcome<EventsQuery> {
  const query = new URLSearchParams(text);
  const count = readCount(query, "count");
  if (!count.ok) return count;
  const direction = query.get("direction") ?? "forwards";
  if (direction !== "forwards" && direction !== "backwards") {
    return badQuery("direction", "must be forwards or backwards");
  }
  const raw = readFlag(query, "raw");
  if (!raw.ok) return raw;
  const start = query.get("start") ?? undefined;
  return accept({ start, count: count.value, direction, raw: raw.value });
}

export type ListQuery = Omit<ListAggregatesRequest, "aggregateType">;

/** `GET /{type}`. */
export function decodeListQuery(text: string): Outcome<ListQuery> {
  const query = new URLSearchParams(text);
  const resolve = readFlag(query, "resolve");
  if (!resolve.ok) return resolve;
  const synchronous = readFlag(query, "synchronous");
  if (!synchronous.ok) return synchronous;
  const page = decodePageQuery(query);
  if (!page.ok) return page;
  return accept({ resolve: resolve.value, synchronous: synchronous.value, ...page.value });
}

export interface PageQuery {
  readonly limit?: number;
  readonly start?: string;
}

/**
 * `limit` and `start` of any list; `cursor` is an older name of `start`. An empty cursor counts
 * as absent: a list that begins with its newest entries would otherwise end before the first
 * one.
 */
export function decodePageQuery(query: URLSearchParams): Outcome<PageQuery> {
  const limit = readCount(query, "limit");
  if (!limit.ok) return limit;
  const start = query.get("start") || query.get("cursor") || undefined;
  return accept({ limit: limit.value, start });
}

export interface SagasQuery extends PageQuery {
  readonly name?: string;
  readonly state?: SagaState;
}

/** `GET /_sagas`. */
export function decodeSagasQuery(text: string): Outcome<SagasQuery> {
  const query = new URLSearchParams(text);
  const page = decodePageQuery(query);
  if (!page.ok) return page;
  const asked = query.get("state");
  const state = SAGA_STATES.find((each) => each === asked);
  if (asked !== null && state === undefined) {
    return badQuery("state", `must be ${SAGA_STATES.slice(0, -1).join(", ")} or failed`);
  }
  return accept({ name: query.get("name") ?? undefined, state, ...page.value });
}

export interface DeliveriesQuery extends PageQuery {
  readonly state?: DeliveryState;
}

/** `GET /_listeners/{name}/deliveries`. */
export function decodeDeliveriesQuery(text: string): Outcome<DeliveriesQuery> {
  const query = new URLSearchParams(text);
  const page = decodePageQuery(query);
  if (!page.ok) return page;
  const asked = query.get("state");
  const state = DELIVERY_STATES.find((each) => each === asked);
  if (asked !== null && state === undefined) {
    return badQuery("state", "must be pending, delivered, dead or dropped");
  }
  return accept({ state, ...page.value });
}
