/**
 * Messages of Durable Streams as events of Daybook, and events as clients of Durable Streams read
 * them: in bodies, and in frames of server-sent events. A message of JSON is one event. Everything
 * else is bytes, with one event for each piece.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { sseFrame } from "../http/feed/feed_server.ts";

/** The first event of a stream has its content type; the others have the messages. */
export const spec: JsonObject = {
  agent_types: ["user"],
  aggregate_types: {
    stream: {
      events: {
        was_opened: {
          schema: { type: "object", required: ["content_type"] },
          handler: { set: { target: "content_type", value: "$.data.content_type" } },
        },
        was_appended: { schema: { type: "object" }, handler: [] },
      },
    },
  },
};

/** An event as it is written and as it is read. */
export interface Appended {
  readonly type: string;
  /** Of `was_appended` either `message` or `bytes`, in base64. */
  readonly data: {
    readonly content_type?: string;
    readonly message?: JsonValue;
    readonly bytes?: string;
  };
}

/** An event in a page or a frame of Daybook. */
export interface Entry {
  readonly id: string;
  readonly event: Appended;
}

/** The `data` of an event has at most 100 KiB. */
const PIECE_BYTES = 64 * 1024;

function isJson(contentType: string): boolean {
  return /^application\/json\b/i.test(contentType);
}

/** The events of a body; undefined if it should be JSON and is not. */
export function eventsOf(contentType: string, body: Uint8Array): Appended[] | undefined {
  if (!isJson(contentType)) {
    return Array.from({ length: Math.ceil(body.length / PIECE_BYTES) }, (_, at) => {
      const piece = body.subarray(at * PIECE_BYTES, (at + 1) * PIECE_BYTES);
      return { type: "was_appended", data: { bytes: piece.toBase64() } };
    });
  }
  if (body.length === 0) return [];
  try {
    const value: JsonValue = JSON.parse(new TextDecoder().decode(body));
    const messages = Array.isArray(value) ? value : [value];
    return messages.map((message) => ({ type: "was_appended", data: { message } }));
  } catch {
    return undefined;
  }
}

/** What events are in the body of a read: an array of messages, or bytes. */
export function bodyOf(contentType: string, entries: readonly Entry[]): BodyInit {
  const appended = entries.filter(({ event }) => event.type === "was_appended");
  return isJson(contentType)
    ? JSON.stringify(appended.map(({ event }) => event.data.message))
    : new Blob(appended.map(({ event }) => Uint8Array.fromBase64(event.data.bytes!)));
}

function isText(contentType: string): boolean {
  return /^text\//i.test(contentType);
}

/** Whether frames have the data in base64. */
export function isBinary(contentType: string): boolean {
  return !isJson(contentType) && !isText(contentType);
}

function dataFrame(contentType: string, { data }: Appended): string {
  let text = data.bytes!;
  if (isJson(contentType)) text = JSON.stringify([data.message]);
  else if (isText(contentType)) text = new TextDecoder().decode(Uint8Array.fromBase64(text));
  // Readers take one space off the beginning of a line.
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.startsWith(" ") ? ` ${line}` : line);
  return `event: data\n${lines.map((line) => `data:${line}\n`).join("")}\n`;
}

/**
 * The frames of a Daybook tail, each translated as it comes. Behind the data of each event is a
 * control frame with its place. It waits for Daybook's next frame, because that may be the word
 * that the reader is up to date, which belongs to the same place.
 */
export function translateFrames(
  contentType: string,
  streamCursor: string,
): TransformStream<string, string> {
  let text = "";
  let due: string | undefined;

  function control(streamNextOffset: string, more: JsonObject = {}): string {
    due = undefined;
    return `event: control\ndata:${
      JSON.stringify({ streamNextOffset, streamCursor, ...more })
    }\n\n`;
  }

  function translate(frame: string): string {
    const { type, data } = sseFrame(frame);
    if (type === "heartbeat") return ": heartbeat\n\n";
    if (type === "caught_up") return control(data.next_start, { upToDate: true });
    if (type !== "event") throw new Error(`the answer has a frame '${type}'`);
    const { id, event }: Entry = data;
    const before = due === undefined ? "" : control(due);
    if (event.type !== "was_appended") return before;
    due = id;
    return before + dataFrame(contentType, event);
  }

  return new TransformStream({
    transform(chunk, controller) {
      const frames = (text + chunk).split("\n\n");
      text = frames.pop()!;
      const translated = frames.map(translate).join("");
      if (translated !== "") controller.enqueue(translated);
    },
    flush(controller) {
      if (due !== undefined) controller.enqueue(control(due));
    },
  });
}
