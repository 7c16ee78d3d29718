/**
 * The texts of the feed, of tails and of live states: entries of a page, frames of server-sent
 * events, lines of NDJSON. Stored events and states are joined in, and never parsed. See
 * docs/reference/feed.md.
 */

import { assert } from "../../domain/assert.ts";
import { encodeCloudEvent } from "../../domain/cloud_event.ts";
import type { FeedEntry, FeedErasure, FeedPage } from "../../domain/feed/page.ts";
import type { Turns } from "../../domain/fairness/pieces.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { pageBody, type Part, shortPageBody } from "../long_answer.ts";

/** How live answers are written. */
export type LiveForm = "sse" | "ndjson";

/** How an event is shown: as it is, as the text that was stored, or as a CloudEvent of a source. */
export type ShownEvent = "event" | "raw" | { readonly source: string };

const encoder = new TextEncoder();
/** By page, and by the name of a form. */
const encoded = new WeakMap<object, Map<string, Uint8Array<ArrayBuffer>>>();

/** The text of a page in a form, in bytes: made once for all connections that share the page. */
export function encodedOnce(
  page: object,
  form: string,
  make: () => string,
): Uint8Array<ArrayBuffer> {
  const forms = encoded.get(page) ?? new Map<string, Uint8Array<ArrayBuffer>>();
  encoded.set(page, forms);
  const known = forms.get(form);
  if (known !== undefined) return known;
  const made = encoder.encode(make());
  forms.set(form, made);
  return made;
}

/** The fields of an entry, without braces. */
function entryFields(entry: FeedEntry, shown: ShownEvent): string {
  return `"cursor":"${entry.cursor}",${eventFields(entry, shown)}`;
}

function eventFields(entry: StoredEntry, shown: ShownEvent): string {
  return `"id":"${entry.id}","hash":"${entry.hash}",${shownField(entry, shown)}`;
}

function shownField({ id, hash, raw }: StoredEntry, shown: ShownEvent): string {
  if (shown === "event") return `"event":${raw}`;
  if (shown === "raw") return `"raw":${JSON.stringify(raw)}`;
  const { source } = shown;
  return `"cloudevent":${encodeCloudEvent({ source, index: Number(id), hash, raw })}`;
}

type StoredEntry = Pick<FeedEntry, "id" | "hash" | "raw">;

/** The body of a page. */
export function feedPageBody(page: FeedPage, shown: ShownEvent, turns: Turns): Promise<Part[]> {
  return pageBody(page.entries, textOfShown(shown), tailOf(page), turns);
}

/** The same body, made at once: for pages that are known to be short. */
export function shortFeedPageBody(page: FeedPage, shown: ShownEvent): Part[] {
  return shortPageBody(page.entries, textOfShown(shown), tailOf(page));
}

function textOfShown(shown: ShownEvent): (entry: FeedEntry) => string {
  return (entry) => `{${entryFields(entry, shown)}}`;
}

/** The members behind the entries. */
function tailOf(page: FeedPage): string {
  let tail = `"next":"${page.next}","up_to_date":${page.isUpToDate}`;
  if (page.isBuilding) tail += ',"building":true';
  if (page.erased.length > 0) tail += `,"erased":${JSON.stringify(page.erased)}`;
  return tail;
}

/** Entries and erasures of a page as frames, in feed order. */
export function pageFrames(page: FeedPage, form: LiveForm, shown: ShownEvent): string {
  let text = "";
  let erasure = 0;
  const { entries, erased } = page;
  for (const entry of entries) {
    while (erasure < erased.length && erased[erasure]!.cursor < entry.cursor) {
      text += erasedFrame(erased[erasure++]!, form);
    }
    text += frame("event", entry.cursor, entryFields(entry, shown), form);
  }
  while (erasure < erased.length) text += erasedFrame(erased[erasure++]!, form);
  return text;
}

/** A frame of that name. Only server-sent events have the id. */
function frame(name: string, id: string | undefined, fields: string, form: LiveForm): string {
  if (form === "ndjson") return `{"type":"${name}"${fields && ","}${fields}}\n`;
  return `event: ${name}\n${id === undefined ? "" : `id: ${id}\n`}data: {${fields}}\n\n`;
}

/** Events of one stream; the ids of their frames are those of the events. */
export function streamFrames(
  entries: readonly StoredEntry[],
  form: LiveForm,
  isRaw: boolean,
): string {
  return entries.map((entry) =>
    frame("event", entry.id, eventFields(entry, isRaw ? "raw" : "event"), form)
  ).join("");
}

/** The events of the stream have become markers. Readers go on behind the event that they had. */
export function streamErasedFrame(key: StreamKey, form: LiveForm): string {
  return frame("erased", undefined, `"key":${JSON.stringify(key)}`, form);
}

/** Nothing is left; `start` is the id of the last event, undefined if there is none. */
export function streamCaughtUpFrame(start: string | undefined, form: LiveForm): string {
  return frame("caught_up", undefined, start === undefined ? "" : `"next_start":"${start}"`, form);
}

/** A state, with the body of a plain read; the id of the frame is the length of its stream. */
export function stateFrame(length: number, body: readonly Part[], form: LiveForm): Part[] {
  if (form === "sse") return [`event: state\nid: ${length}\ndata: `, ...body, "\n\n"];
  const [first, ...rest] = body;
  assert(typeof first === "string", "a body begins with its text");
  return [`{"type":"state",${first.slice(1)}`, ...rest, "\n"];
}

function erasedFrame({ key, cursor }: FeedErasure, form: LiveForm): string {
  return frame("erased", cursor, `"key":${JSON.stringify(key)},"cursor":"${cursor}"`, form);
}

/** Nothing is left; `cursor` is where to go on. */
export function caughtUpFrame(cursor: string, form: LiveForm): string {
  return frame("caught_up", cursor, `"cursor":"${cursor}"`, form);
}

/** Says that the connection is alive. */
export function heartbeatFrame(form: LiveForm): string {
  return form === "sse" ? ": heartbeat\n\n" : '{"type":"heartbeat"}\n';
}

/** Says why the answer ends early: the body of the refusal that a new request would get. */
export function refusedFrame(body: object, form: LiveForm): string {
  return frame("refused", undefined, JSON.stringify({ ok: false, ...body }).slice(1, -1), form);
}
