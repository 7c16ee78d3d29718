/** `events list` and `events tail`: the events of one aggregate, or all events as they come. */

import type { JsonObject } from "../../domain/json.ts";
import { pathOfKey } from "./aggregate_key.ts";
import { followLive, openClient } from "../connection/follow_live.ts";
import type { Paint } from "../terminal/output.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_MISUSED } from "../terminal/settings.ts";
import { timeText } from "./state.ts";

export interface ListOptions extends CommonOptions {
  readonly limit: string;
  readonly start?: string;
  readonly backwards?: boolean;
}

interface Entry {
  readonly id: string;
  readonly cursor?: string;
  readonly event: {
    readonly key: string;
    readonly type: string;
    readonly data: JsonObject;
    readonly metadata: { readonly timestamp: number };
  };
}

const PAGE_MAX = 5_000;

export async function listEvents(key: string, options: ListOptions): Promise<void> {
  const session = await openSession(options);
  const { output } = session;
  const limit = limitOrExit(session, options.limit);
  const path = `${pathOfKey(output, key)}/events`;
  const direction = options.backwards ? "backwards" : "forwards";
  const entries: JsonObject[] = [];
  let start = options.start;
  do {
    const count = Math.min(limit - entries.length, PAGE_MAX);
    const page = await session.data({ path, query: { count, start, direction } });
    const data = page.data as JsonObject[];
    if (options.backwards) entries.unshift(...data);
    else entries.push(...data);
    start = page.next_start as string | undefined;
  } while (start !== undefined && entries.length < limit);
  output.result({ key, events: entries, ...(start && { next_start: start }) }, () => {
    const lines = entries.map((each) => entryText(each as unknown as Entry, output.paint, false));
    if (start !== undefined) lines.push(output.paint("dim", `more: --start ${start}`));
    return lines.length === 0 ? `${key} has no events.` : lines.join("\n");
  });
}

function limitOrExit({ output }: Session, text: string): number {
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit > 0) return limit;
  const error = `--limit must be a number from 1, not '${text}'.`;
  return output.fail({ error, error_type: "misused" }, EXIT_MISUSED);
}

export interface TailOptions extends CommonOptions {
  readonly types?: string;
  readonly from: string;
  /** False with `--no-follow`. */
  readonly follow: boolean;
}

export async function tailEvents(options: TailOptions): Promise<void> {
  const session = await openSession(options);
  const { output, environment } = session;
  const { types } = options;
  // A first page tells of wrong options at once, and where now is.
  const page = await session.data({
    path: "/_feed",
    query: { from: options.from, types, limit: 1 },
  });
  const from = options.from === "now" ? String(page.next) : options.from;
  const client = await openClient(session);
  const feed = client.$feed({ from, types: types?.split(","), notices: true });
  let hasSaid = false;
  await followLive(session, feed, (item) => {
    if (item.type === "event") {
      const { type: _, ...entry } = item;
      output.line(entry, () => entryText(entry as unknown as Entry, output.paint, true));
    } else if (item.type === "erased") {
      const { key, cursor } = item;
      output.line({ erased: key, cursor }, () => output.paint("red", `erased ${key}`));
    } else {
      if (!options.follow) return false;
      if (!hasSaid) output.note(`Waiting for events of ${environment}. Ctrl-C ends.`);
      hasSaid = true;
    }
  });
}

/** One line: when, of what, what, and with which data. */
function entryText({ id, event }: Entry, paint: Paint, withKey: boolean): string {
  const { key, type, data, metadata } = event;
  const index = /^\d+$/.test(id) ? String(Number(id)) : id;
  const place = withKey ? `${key}#${index}` : `#${index}`;
  const time = paint("dim", timeText(metadata.timestamp));
  return `${time}  ${paint("blue", place)}  ${paint("bold", type)}  ${JSON.stringify(data)}`;
}
