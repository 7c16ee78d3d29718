/**
 * Builds the bodies of reads by joining stored JSON texts.
 *
 * State and events are never parsed and serialized again on their way out, and long texts are
 * not joined. See docs/reference/reading.md.
 */

import type {
  AggregatePage,
  AggregateView,
  EventPage,
  ListedAggregate,
} from "../../domain/reading.ts";
import type { Turns } from "../../domain/fairness/pieces.ts";
import type { Outcome } from "../../domain/refusal.ts";
import { pageBody, type Part } from "../long_answer.ts";

const PART_CHARACTERS = 64 * 1024;

/** `{ok, data, metadata: {length, created_at, updated_at}}`. */
export function aggregateBody(view: AggregateView): Part[] {
  const { dataJson } = view;
  if (typeof dataJson === "string" && dataJson.length < PART_CHARACTERS) {
    return [`{"ok":true,"data":${dataJson},"metadata":{${metadataOf(view)}}}`];
  }
  return ['{"ok":true,', ...aggregateFields(view)];
}

/** The length of a state's text; 0 for a refusal. */
export function lengthOfState(outcome: Outcome<AggregateView>): number {
  return outcome.ok ? outcome.value.dataJson.length : 0;
}

function aggregateFields(view: AggregateView): Part[] {
  return ['"data":', view.dataJson, `,"metadata":{${metadataOf(view)}}}`];
}

function metadataOf({ length, createdAt, updatedAt }: AggregateView): string {
  return `"length":${length},"created_at":${createdAt},"updated_at":${updatedAt}`;
}

/** One page of a stream; with `raw`, each event is the text that was stored. */
export function eventPageBody(page: EventPage, raw: boolean, turns: Turns): Promise<Part[]> {
  let tail = `"count_limit":${page.countLimit},"truncated":${page.truncated}`;
  if (page.truncatedBy !== undefined) tail += `,"truncated_by":"${page.truncatedBy}"`;
  if (page.nextStart !== undefined) tail += `,"next_start":${JSON.stringify(page.nextStart)}`;
  if (page.countClamped) tail += `,"count_clamped":true`;
  const textOf = ({ id, hash, raw: text }: EventPage["entries"][number]) => {
    const event = raw ? `"raw":${JSON.stringify(text)}` : `"event":${text}`;
    return `{"id":"${id}","hash":"${hash}",${event}}`;
  };
  return pageBody(page.entries, textOf, tail, turns);
}

/** One page of an aggregate listing: ids, or resolved aggregates. */
export function aggregatePageBody(page: AggregatePage, resolve: boolean): Part[] {
  const data = resolve
    ? page.entries.flatMap((entry, index) => [index === 0 ? "" : ",", ...resolvedEntry(entry)])
    : [page.entries.map(({ id }) => JSON.stringify(id)).join(",")];
  let tail = `"limit":${page.limit},"truncated":${page.truncated}`;
  if (page.nextStart !== undefined) {
    const next = JSON.stringify(page.nextStart);
    tail += `,"next_start":${next},"cursor":${next}`;
  }
  if (page.limitClamped) tail += `,"limit_clamped":true`;
  return ['{"ok":true,"data":[', ...data, `],${tail}}`];
}

function resolvedEntry(entry: ListedAggregate): Part[] {
  const id = JSON.stringify(entry.id);
  if ("view" in entry) return [`{"id":${id},`, ...aggregateFields(entry.view)];
  if ("error" in entry) return [`{"id":${id},"error":"${entry.error}"}`];
  return [`{"id":${id}}`];
}
