/** Answers of writes. See docs/reference/writing.md. */

import { eventId } from "../domain/event.ts";
import type { Written } from "../domain/write/write.ts";
import { sendText } from "./answer.ts";

/** 201 with the ids. A replay carries the request id of the write that was committed. */
export function sendWritten(requestId: string, written: Written): Response {
  const body = writtenBody(written);
  if (!written.replayed) return sendText(requestId, 201, body);
  return sendText(written.requestId, 201, body, { "x-idempotency-replayed": "true" });
}

/** Builds text directly, since a batch may hold 10,000 ids. */
export function writtenBody({ form, targets, impliedCount }: Written): string {
  const implied = impliedCount === 0 ? "" : `,"implied_count":${impliedCount}`;
  const first = targets[0]!;
  if (form === "single") return `{"ok":true,"stream_id":"${eventId(first.first)}"${implied}}`;
  if (form === "batch") {
    const ids = streamIds(first);
    return `{"ok":true,"stream_ids":[${ids}],"count":${first.count}${implied}}`;
  }
  let total = 0;
  const members: string[] = [];
  for (const target of targets) {
    total += target.count;
    members.push(`${JSON.stringify(target.key)}:[${streamIds(target)}]`);
  }
  return `{"ok":true,"written":${total},"stream_ids":{${members.join(",")}}}`;
}

function streamIds({ first, count }: Written["targets"][number]): string {
  let ids = "";
  for (let index = first; index < first + count; index++) {
    ids += index === first ? `"${eventId(index)}"` : `,"${eventId(index)}"`;
  }
  return ids;
}
