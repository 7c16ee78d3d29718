/**
 * What each stream must hold, and how to judge what a restarted server shows of it. These are
 * pure functions over the journal and the listed entries. See docs/reference/writing.md
 * (idempotency, all-or-none writes) and docs/reference/audit.md (chain hash).
 */

import { createHash } from "node:crypto";
import { type EventData, type Journal, keyOf, type Operation, type Place } from "./journal.ts";

/** One entry of `GET .../events?raw=true`. */
export interface ListedEntry {
  readonly id: string;
  readonly hash: string;
  readonly raw: string;
}

/** What has been seen of a stream, and its state as the handlers of the crash spec fold it. */
export interface StreamModel {
  readonly key: string;
  /** The chain hash after each event; it covers every byte up to there. */
  readonly hashes: string[];
  lastId?: string;
  /** Whether the last attempt to read its new entries succeeded. */
  isRead: boolean;
  state: { count: number; sum: number; last?: string };
}

/** An event that was found in a stream and that no client sent. */
export interface UnsentEvent {
  readonly key: string;
  readonly type: string;
  readonly data: EventData;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly position: number;
  readonly id: string;
}

/** Returns what is wrong with the event; called once for each, in the order of its stream. */
export type JudgeUnsent = (event: UnsentEvent) => string[];

export function createStreamModel(key: string): StreamModel {
  return { key, hashes: [], isRead: false, state: { count: 0, sum: 0 } };
}

export function chainHash(previous: string | undefined, raw: string): string {
  return createHash("sha256").update((previous ?? "") + raw).digest("hex");
}

/** Takes entries that follow what the model holds; returns what is wrong with them. */
export function absorbEntries(
  stream: StreamModel,
  entries: readonly ListedEntry[],
  journal: Journal,
  judgeUnsent: JudgeUnsent = nobodySentIt,
): string[] {
  const faults: string[] = [];
  for (const entry of entries) {
    const position = stream.hashes.length;
    const where = `${stream.key} event ${position}`;
    const hash = chainHash(stream.hashes.at(-1), entry.raw);
    if (hash !== entry.hash) faults.push(`${where}: chain hash ${entry.hash}, computed ${hash}`);
    stream.hashes.push(entry.hash);
    stream.lastId = entry.id;
    const event = parseEvent(entry.raw);
    if (event === undefined) {
      faults.push(`${where}: raw is not an event: ${entry.raw.slice(0, 200)}`);
      continue;
    }
    const place = journal.placeOf(event.data.token);
    if (place === undefined) {
      const judged = judgeUnsent({ ...event, position, id: entry.id });
      faults.push(...judged.map((fault) => `${where}: ${fault}`));
      fold(stream, event);
      continue;
    }
    faults.push(...entryFaults(stream, event, place).map((fault) => `${where}: ${fault}`));
    place.position = position;
    place.id = entry.id;
    fold(stream, event);
  }
  return faults;
}

function nobodySentIt({ type, data }: UnsentEvent): string[] {
  return [`nobody sent it: ${type} ${JSON.stringify(data).slice(0, 200)}`];
}

interface ParsedEvent {
  readonly key: string;
  readonly type: string;
  readonly data: EventData;
  readonly metadata: Readonly<Record<string, unknown>>;
}

function parseEvent(raw: string): ParsedEvent | undefined {
  try {
    const event = JSON.parse(raw);
    return typeof event?.data?.token === "string" && event.metadata !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

function entryFaults(stream: StreamModel, event: ParsedEvent, place: Place): string[] {
  const { operation } = place;
  const target = operation.targets[place.target]!;
  const sent = target.events[place.event]!;
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string) => holds || faults.push(fault);
  expect(
    event.key === stream.key && keyOf(target) === stream.key,
    `it belongs to ${keyOf(target)}`,
  );
  expect(event.type === sent.type, `type ${event.type}, sent ${sent.type}`);
  expect(JSON.stringify(event.data) === JSON.stringify(sent.data), "other data than sent");
  expect(
    event.metadata.idempotency_key === operation.idempotencyKey,
    `idempotency key ${event.metadata.idempotency_key}, sent ${operation.idempotencyKey}`,
  );
  expect(operation.outcome !== "refused", `write ${operation.number} was refused`);
  expect(
    place.position === undefined,
    `write ${operation.number} has a second effect; the first is event ${place.position}`,
  );
  return faults;
}

function fold(stream: StreamModel, event: ParsedEvent): void {
  const sign = event.type === "was_debited" ? -1 : 1;
  const { count, sum } = stream.state;
  stream.state = { count: count + 1, sum: sum + sign * event.data.amount, last: event.data.token };
}

/**
 * After all streams of a write were absorbed: checks that it is there whole or, if allowed, not
 * at all.
 */
export function operationFaults(operation: Operation, journal: Journal): string[] {
  const places = journal.placesOf(operation);
  const found = places.filter((place) => place.position !== undefined);
  const name = `write ${operation.number} (${operation.form}, ${operation.outcome})`;
  if (found.length === 0) {
    return operation.outcome === "acknowledged" ? [`${name} is lost`] : [];
  }
  if (found.length < places.length) {
    return [`${name} is there in part: ${found.length} of ${places.length} events`];
  }
  const faults: string[] = [];
  for (const place of places) {
    const before = places.find((other) =>
      other.target === place.target && other.event === place.event - 1
    );
    if (before !== undefined && place.position !== before.position! + 1) {
      faults.push(`${name}: event ${place.event} of target ${place.target} is out of order`);
    }
    const id = operation.streamIds?.[place.target]?.[place.event];
    if (operation.outcome === "acknowledged" && id !== place.id) {
      faults.push(`${name}: acknowledged as stream id ${id}, found at ${place.id}`);
    }
    const guard = operation.targets[place.target]!.previousLength;
    if (place.event === 0 && guard !== undefined && guard !== place.position) {
      faults.push(`${name}: guarded by length ${guard}, landed at ${place.position}`);
    }
  }
  return faults;
}

export function isPresent(operation: Operation, journal: Journal): boolean {
  return journal.placesOf(operation).every((place) => place.position !== undefined);
}

/** Compares the whole stream, from its first event: every byte must be as it was seen before. */
export function wholeStreamFaults(stream: StreamModel, entries: readonly ListedEntry[]): string[] {
  const faults: string[] = [];
  if (entries.length !== stream.hashes.length) {
    faults.push(`${stream.key}: ${entries.length} events, seen before ${stream.hashes.length}`);
  }
  let hash: string | undefined;
  for (const [position, entry] of entries.entries()) {
    hash = chainHash(hash, entry.raw);
    if (hash === entry.hash && hash === stream.hashes[position]) continue;
    faults.push(`${stream.key} event ${position}: not the bytes seen before`);
    break;
  }
  return faults;
}
