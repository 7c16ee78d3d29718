/** Pages of the feed as an export takes them, and as lines: events and erasures in their order. */

import type { StoredEvent } from "../../domain/event.ts";
import type { JsonObject } from "../../domain/json.ts";

export interface Entry {
  readonly cursor: string;
  readonly id: string;
  readonly hash: string;
  readonly raw?: string;
  readonly event?: StoredEvent;
  readonly cloudevent?: JsonObject;
}

export interface Erasure {
  readonly key: string;
  readonly cursor: string;
}

export interface Page {
  readonly data: readonly Entry[];
  readonly erased?: readonly Erasure[];
  readonly next: string;
  readonly up_to_date: boolean;
  readonly building?: boolean;
}

/** Takes the pages of an export. */
export interface PageWriter {
  write(page: Page): Promise<void>;
  finish(): Promise<void>;
}

export function writeLines(
  write: (bytes: Uint8Array) => Promise<void>,
  source: string | undefined,
): PageWriter {
  const encoder = new TextEncoder();
  return {
    write: (page) => write(encoder.encode(linesOfPage(page, source))),
    finish: () => Promise.resolve(),
  };
}

/** Events and erasures in the order of the feed. With a `source` they are CloudEvents. */
function linesOfPage({ data, erased = [] }: Page, source: string | undefined): string {
  const lines: string[] = [];
  let at = 0;
  const tell = (erasure: Erasure) => lines.push(erasedLine(erasure, source));
  for (const { cursor, raw, cloudevent } of data) {
    while (at < erased.length && erased[at]!.cursor < cursor) tell(erased[at++]!);
    lines.push(raw ?? JSON.stringify(cloudevent));
  }
  while (at < erased.length) tell(erased[at++]!);
  return lines.map((line) => `${line}\n`).join("");
}

/** What was exported of this stream before is to be forgotten; its markers come by themselves. */
function erasedLine({ key, cursor }: Erasure, source: string | undefined): string {
  if (source === undefined) return JSON.stringify({ record: "erased", key, cursor });
  return JSON.stringify({
    specversion: "1.0",
    id: `erased/${cursor}`,
    source,
    type: `${key.slice(0, key.indexOf(":"))}._stream_erased`,
    subject: key,
  });
}
