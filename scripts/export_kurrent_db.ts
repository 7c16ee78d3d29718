/**
 * Writes all events of a KurrentDB (or EventStoreDB) to standard output, as lines of JSON that
 * `daybook migrate --from kurrentdb` reads. It uses the database's own client, which is loaded when
 * it runs and is no package of this project.
 *
 *     deno run -A scripts/export_kurrent_db.ts 'kurrentdb://localhost:2113' > events.ndjson
 */

import { Buffer } from "node:buffer";

const CLIENT = "npm:@kurrent/kurrentdb-client@1.3.1";
const LINES_AT_ONCE = 500;

/** An event as the client gives it; numbers of 64 bits are `bigint`. */
export interface RecordedEvent {
  readonly streamId: string;
  readonly id: string;
  readonly revision: bigint | number;
  readonly type: string;
  readonly created: Date;
  readonly isJson: boolean;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly position?: { readonly commit: bigint };
}

/** The line of one event; undefined for those of the database itself. */
export function lineOfEvent(event: RecordedEvent): string | undefined {
  const { streamId, id, revision, type, created, isJson, data, metadata, position } = event;
  if (streamId.startsWith("$") || type.startsWith("$")) return undefined;
  return JSON.stringify({
    streamId,
    id,
    revision: String(revision),
    type,
    created: created.toISOString(),
    position: position && String(position.commit),
    isJson,
    data: isJson ? data : Buffer.from(data as Uint8Array).toString("base64"),
    metadata: metadata instanceof Uint8Array ? undefined : metadata,
  });
}

async function exportAll(address: string): Promise<void> {
  const { KurrentDBClient, FORWARDS, START, excludeSystemEvents } = await import(CLIENT);
  const client = KurrentDBClient.connectionString(address);
  const filter = excludeSystemEvents();
  const encoder = new TextEncoder();
  const writer = Deno.stdout.writable.getWriter();
  let lines = "";
  let waiting = 0;
  for await (
    const { event } of client.readAll({ direction: FORWARDS, fromPosition: START, filter })
  ) {
    const line = event && lineOfEvent(event);
    if (line === undefined) continue;
    lines += `${line}\n`;
    if (++waiting < LINES_AT_ONCE) continue;
    await writer.write(encoder.encode(lines));
    [lines, waiting] = ["", 0];
  }
  await writer.write(encoder.encode(lines));
  await writer.close();
}

if (import.meta.main) {
  const [address] = Deno.args;
  if (address === undefined) {
    console.error("Give the address of the database, such as kurrentdb://localhost:2113?tls=false");
    Deno.exit(2);
  }
  await exportAll(address);
  Deno.exit(0);
}
