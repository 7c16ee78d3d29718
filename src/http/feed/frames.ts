/**
 * The texts of the feed: entries of a page, frames of server-sent events, lines of NDJSON. Stored
 * events are joined in, and never parsed. See docs/reference/feed.md.
 */

import type { FeedEntry, FeedErasure, FeedPage } from "../../domain/feed/page.ts";
import type { Part } from "../long_answer.ts";

/** How live answers are written. */
export type LiveForm = "sse" | "ndjson";

const PART_CHARACTERS = 64 * 1024;

/** The fields of an entry, without braces. */
function entryFields({ cursor, id, hash, raw }: FeedEntry, isRaw: boolean): string {
  const event = isRaw ? `"raw":${JSON.stringify(raw)}` : `"event":${raw}`;
  return `"cursor":"${cursor}","id":"${id}","hash":"${hash}",${event}`;
}

/** The body of a page; `raw`: events are the texts that were stored. */
export function feedPageBody(page: FeedPage, isRaw: boolean): Part[] {
  const parts: Part[] = [];
  let text = '{"ok":true,"data":[';
  let comma = "";
  for (const entry of page.entries) {
    text += `${comma}{${entryFields(entry, isRaw)}}`;
    comma = ",";
    if (text.length < PART_CHARACTERS) continue;
    parts.push(text);
    text = "";
  }
  let tail = `"next":"${page.next}","up_to_date":${page.isUpToDate}`;
  if (page.isBuilding) tail += ',"building":true';
  if (page.erased.length > 0) tail += `,"erased":${JSON.stringify(page.erased)}`;
  parts.push(`${text}],${tail}}`);
  return parts;
}

/** Entries and erasures of a page as frames, in feed order. */
export function pageFrames(page: FeedPage, form: LiveForm, isRaw: boolean): string {
  let text = "";
  let erasure = 0;
  const { entries, erased } = page;
  for (const entry of entries) {
    while (erasure < erased.length && erased[erasure]!.cursor < entry.cursor) {
      text += erasedFrame(erased[erasure++]!, form);
    }
    const fields = entryFields(entry, isRaw);
    text += form === "sse"
      ? `event: event\nid: ${entry.cursor}\ndata: {${fields}}\n\n`
      : `{"type":"event",${fields}}\n`;
  }
  while (erasure < erased.length) text += erasedFrame(erased[erasure++]!, form);
  return text;
}

function erasedFrame({ key, cursor }: FeedErasure, form: LiveForm): string {
  const fields = `"key":${JSON.stringify(key)},"cursor":"${cursor}"`;
  return form === "sse"
    ? `event: erased\nid: ${cursor}\ndata: {${fields}}\n\n`
    : `{"type":"erased",${fields}}\n`;
}

/** Nothing is left; `cursor` is where to go on. */
export function caughtUpFrame(cursor: string, form: LiveForm): string {
  return form === "sse"
    ? `event: caught_up\nid: ${cursor}\ndata: {"cursor":"${cursor}"}\n\n`
    : `{"type":"caught_up","cursor":"${cursor}"}\n`;
}

/** Says that the connection is alive. */
export function heartbeatFrame(form: LiveForm): string {
  return form === "sse" ? ": heartbeat\n\n" : '{"type":"heartbeat"}\n';
}

/** Says why the answer ends early: the body of the refusal that a new request would get. */
export function refusedFrame(body: object, form: LiveForm): string {
  const fields = JSON.stringify({ ok: false, ...body });
  return form === "sse"
    ? `event: refused\ndata: ${fields}\n\n`
    : `{"type":"refused",${fields.slice(1)}\n`;
}
