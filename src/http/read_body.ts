/**
 * Bodies of reads, joined from JSON texts that are ready: state and events are never parsed and
 * made again on their way out. Spec: "Aggregate (read form)", events and aggregate listings.
 */

import type {
  AggregatePage,
  AggregateView,
  EventPage,
  ListedAggregate,
} from "../domain/reading.ts";

/** `{ok, data, metadata: {length, created_at, updated_at}}`. */
export function aggregateBody(view: AggregateView): string {
  return `{"ok":true,${aggregateFields(view)}}`;
}

function aggregateFields({ dataJson, length, createdAt, updatedAt }: AggregateView): string {
  return `"data":${dataJson},"metadata":{"length":${length},"created_at":${createdAt},` +
    `"updated_at":${updatedAt}}`;
}

/** One page of a stream; with `raw`, each event as the text that was stored. */
export function eventPageBody(page: EventPage, raw: boolean): string {
  let entries = "";
  for (const entry of page.entries) {
    const event = raw ? `"raw":${JSON.stringify(entry.raw)}` : `"event":${entry.raw}`;
    const comma = entries === "" ? "" : ",";
    entries += `${comma}{"id":"${entry.id}","hash":"${entry.hash}",${event}}`;
  }
  let tail = `"count_limit":${page.countLimit},"truncated":${page.truncated}`;
  if (page.truncatedBy !== undefined) tail += `,"truncated_by":"${page.truncatedBy}"`;
  if (page.nextStart !== undefined) tail += `,"next_start":${JSON.stringify(page.nextStart)}`;
  if (page.countClamped) tail += `,"count_clamped":true`;
  return `{"ok":true,"data":[${entries}],${tail}}`;
}

/** One page of an aggregate listing: ids, or resolved aggregates. */
export function aggregatePageBody(page: AggregatePage, resolve: boolean): string {
  const data = resolve
    ? `[${page.entries.map(resolvedEntry).join(",")}]`
    : JSON.stringify(page.entries.map(({ id }) => id));
  let tail = `"limit":${page.limit},"truncated":${page.truncated}`;
  if (page.nextStart !== undefined) {
    const next = JSON.stringify(page.nextStart);
    tail += `,"next_start":${next},"cursor":${next}`;
  }
  if (page.limitClamped) tail += `,"limit_clamped":true`;
  return `{"ok":true,"data":${data},${tail}}`;
}

function resolvedEntry(entry: ListedAggregate): string {
  const id = JSON.stringify(entry.id);
  if ("view" in entry) return `{"id":${id},${aggregateFields(entry.view)}}`;
  if ("error" in entry) return `{"id":${id},"error":"${entry.error}"}`;
  return `{"id":${id}}`;
}
