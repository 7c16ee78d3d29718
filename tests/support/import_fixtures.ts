/** Files of backdated events for imports, and what must be stored of them. */

import { accept, type Outcome, refuse } from "../../src/domain/refusal.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import { parseJsonObject } from "../../src/http/decode/json_text.ts";
import type { Service } from "../../src/features/service.ts";
import { ACTOR, uuid, valueOf } from "./service_fixture.ts";

export interface FileShape {
  readonly events: number;
  readonly streams: number;
  /**
   * Characters added to each event's data; one import transaction stores about a million bytes.
   */
  readonly padding?: number;
}

/** One event a line; streams alternate, and times go backwards and forwards. */
export function makeLines({ events, streams, padding = 0 }: FileShape): string[] {
  return Array.from({ length: events }, (_, number) => {
    const data = { n: number, text: "é".repeat(number % 3), pad: "x".repeat(padding) };
    return lineOf(number * 7 % streams, data, 1_000_000_000 + number * 37 % 1_000);
  });
}

export function lineOf(stream: number, data: object, timestamp = 1_000_000_000): string {
  const metadata = { actor: ACTOR, timestamp };
  return JSON.stringify({ key: `order:${uuid(stream)}`, type: "was_viewed", data, metadata });
}

export function fileOf(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}

/** Yields the file in pieces of `pieceBytes`; with `cutAt` the connection breaks at that byte. */
export async function* piecesOf(
  file: string,
  pieceBytes = 60_000,
  cutAt = Infinity,
): AsyncGenerator<Outcome<Uint8Array>> {
  const bytes = new TextEncoder().encode(file);
  const end = Math.min(bytes.length, cutAt);
  for (let at = 0; at < end; at += pieceBytes) {
    yield accept(bytes.slice(at, Math.min(end, at + pieceBytes)));
  }
  if (cutAt < Infinity) yield refuse({ kind: "bad_request", message: "cut off" });
}

type Request = Parameters<Service["imports"]["run"]>[1];

/** Makes a request with `file` as its body. */
export function importRequest(
  file: string,
  change: Partial<Request> & { readonly cutAt?: number } = {},
): Request {
  const { cutAt, ...rest } = change;
  return {
    form: "import_jsonl",
    importId: "load-1",
    pieces: () => piecesOf(file, undefined, cutAt),
    parse: (text) => parseJsonObject(text, "The line"),
    ...rest,
  };
}

/** The events of each stream as they must be stored, given the lines. */
export function expectedStreams(lines: readonly string[]): Map<string, string[]> {
  const streams = new Map<string, string[]>();
  for (const line of lines) {
    // The lines of these fixtures are written exactly as their events are stored.
    const { key } = JSON.parse(line);
    streams.set(key, [...streams.get(key) ?? [], line]);
  }
  return new Map([...streams].sort());
}

/** All orders as they are stored, by key. */
export async function storedStreams(service: Service, tenant: Tenant) {
  const streams = new Map<string, string[]>();
  let start: string | undefined;
  for (;;) {
    const listed = valueOf(
      await service.data.listAggregates(tenant, {
        aggregateType: "order",
        resolve: false,
        synchronous: false,
        limit: 200,
        start,
      }),
    );
    for (const { id } of listed.entries) {
      streams.set(`order:${id}`, await storedEvents(service, tenant, id));
    }
    if (listed.nextStart === undefined) return streams;
    start = listed.nextStart;
  }
}

async function storedEvents(service: Service, tenant: Tenant, id: string): Promise<string[]> {
  const events: string[] = [];
  let start: string | undefined;
  for (;;) {
    const request = { aggregateType: "order", id, direction: "forwards", count: 5_000, start };
    const page = valueOf(await service.data.readEvents(tenant, request as never));
    events.push(...page.entries.map(({ raw }) => raw));
    if (page.nextStart === undefined) return events;
    start = page.nextStart;
  }
}
