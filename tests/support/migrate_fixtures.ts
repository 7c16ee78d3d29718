/** Files of other systems, and what a server must have after they were moved in. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { uuidOfName } from "../../src/domain/migrate/ids.ts";
import type { ServerProcess } from "./server_process.ts";

const NAMESPACE = "6f1c1a0e-5d0b-5c5e-9a53-3e0a4f1b7c21";

/**
 * Rows of message-db: `events` over `streams` accounts, in an order that mixes them. `prefix` tells
 * the accounts of several files apart.
 */
export function messageRows(events: number, streams: number, prefix = ""): JsonObject[] {
  const lengths = new Map<number, number>();
  return Array.from({ length: events }, (_, at) => {
    const account = (at * 7_919 + (at >> 3)) % streams;
    const position = lengths.get(account) ?? 0;
    lengths.set(account, position + 1);
    return {
      global_position: at + 1,
      position,
      id: uuidOfName(NAMESPACE, `event ${prefix}${at}`),
      time: new Date(Date.UTC(2024, 0, 1) + at * 1_000).toISOString().slice(0, -1),
      stream_name: `account-${prefix}${account}`,
      type: position === 0 ? "Opened" : "Deposited",
      data: { at, note: `é "${at}"` },
      metadata: { userId: `u${at % 3}` },
    };
  });
}

export function linesOf(rows: readonly JsonObject[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/**
 * What the environment has behind a cursor is the rows: every event once, in the order of its
 * stream. Returns the cursor behind them.
 */
export async function assertMoved(
  server: ServerProcess,
  rows: readonly JsonObject[],
  from = "start",
): Promise<string> {
  const expected = new Map<string, JsonObject[]>();
  for (const row of rows) {
    const stream = row.stream_name as string;
    const key = `account:${uuidOfName(NAMESPACE, stream.slice("account-".length))}`;
    const events = expected.get(key) ?? [];
    events.push(row);
    expected.set(key, events);
  }
  const found = new Map<string, JsonObject[]>();
  let cursor = from;
  for await (const { event, next } of feedOf(server, from)) {
    cursor = next;
    const key = event.key as string;
    const events = found.get(key) ?? [];
    events.push(event);
    found.set(key, events);
  }
  assert.deepEqual([...found.keys()].sort(), [...expected.keys()].sort());
  for (const [key, events] of found) {
    const rows = expected.get(key)!;
    assert.deepEqual(events.map(({ data }) => data), rows.map(({ data }) => data), key);
    const ids = events.map(({ metadata }) => (metadata as { origin: JsonObject }).origin.id);
    assert.deepEqual(ids, rows.map(({ id }) => id), key);
  }
  return cursor;
}

interface FedEvent {
  readonly event: JsonObject;
  /** The cursor behind the page with it. */
  readonly next: string;
}

/** Every event of the test environment behind a cursor, in the order of the feed. */
export async function* feedOf(server: ServerProcess, from = "start"): AsyncGenerator<FedEvent> {
  const headers = { authorization: `Bearer ${server.credentials.keys.test.read}` };
  for (;;) {
    const url = `${server.baseUrls.test}/_feed?limit=1000&from=${from}`;
    const page = await (await fetch(url, { headers })).json();
    for (const { event } of page.data) yield { event, next: page.next };
    if (page.up_to_date && page.data.length === 0) return;
    from = page.next;
  }
}
