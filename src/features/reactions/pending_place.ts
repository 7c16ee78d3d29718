/** The cursor of a list of pending work, as an opaque text that clients send back unchanged. */

import { Buffer } from "node:buffer";
import { isJsonObject } from "../../domain/json.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { PendingPlace } from "../../store/reactions/pending_reactions.ts";

/** Longer than any cursor, which holds a stream key. */
const CHARACTERS_MAX = 2_000;

export function sealPendingPlace(place: PendingPlace): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** Undefined if no list has returned this text. */
export function openPendingPlace(text: string): PendingPlace | undefined {
  if (text.length > CHARACTERS_MAX) return undefined;
  let place: unknown;
  try {
    place = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
  if (!isJsonObject(place)) return undefined;
  const { source, state, after } = place;
  if (source === "outbox") return openOutboxPlace(after);
  if (after !== undefined && typeof after !== "string") return undefined;
  const rest = after === undefined ? {} : { after };
  if (source === "schedules") return { source, ...rest };
  if (source !== "sagas" || (state !== "running" && state !== "compensating")) return undefined;
  return { source, state, ...rest };
}

function openOutboxPlace(after: unknown): PendingPlace | undefined {
  if (after === undefined) return { source: "outbox" };
  if (!isJsonObject(after)) return undefined;
  const { stream, index, number } = after;
  const isPlace = typeof stream === "string" && Number.isSafeInteger(index) &&
    Number.isSafeInteger(number);
  if (!isPlace) return undefined;
  const known = { stream: stream as StreamKey, index: index as number, number: number as number };
  return { source: "outbox", after: known };
}
