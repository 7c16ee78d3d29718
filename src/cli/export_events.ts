/**
 * `export --format` and `export --since`: the events of an environment behind a cursor, as lines,
 * from a running server. It says where to go on, so that the next export has what came since.
 */

import type { JsonObject } from "../domain/json.ts";
import { limits } from "../domain/limits.ts";
import type { ExportOptions } from "./export_environment.ts";
import { createExportFile, STANDARD_STREAM } from "./export_file.ts";
import { complain, print } from "./print.ts";
import { openSession, type Session } from "./session.ts";
import { EXIT_FAILED, EXIT_MISUSED, reasonOf } from "./settings.ts";
import { seconds } from "./transfer_settings.ts";

/** What a line is: the event as stored, or as a CloudEvent. */
export const EXPORT_FORMATS = ["events", "cloudevents"] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

interface Entry {
  readonly cursor: string;
  readonly raw?: string;
  readonly cloudevent?: JsonObject;
}

interface Erasure {
  readonly key: string;
  readonly cursor: string;
}

interface Page {
  readonly data: readonly Entry[];
  readonly erased?: readonly Erasure[];
  readonly next: string;
  readonly up_to_date: boolean;
  readonly building?: boolean;
}

const BUILDING_PAUSE_MS = 500;
const SAY_EVERY_MS = 5_000;

export async function exportEvents(options: ExportOptions): Promise<void> {
  const { environment: env, out, since = "start" } = options;
  const session = await openSession({ ...options, env });
  const { output, host } = session;
  const format = EXPORT_FORMATS.find((name) => name === (options.format ?? "events"));
  if (format === undefined) {
    const hint = `There are: ${EXPORT_FORMATS.join(", ")}.`;
    const error = `There is no format '${options.format}'.`;
    return output.fail({ error, error_type: "misused", hint }, EXIT_MISUSED);
  }
  const beganMs = host.monotonicMs();
  const file = await createExportFile(out).catch((error) =>
    output.fail({ error: reasonOf(error), error_type: "misused" }, EXIT_FAILED)
  );
  const { next, count } = await writePages(session, format, since, file.write);
  await file.publish();
  const time = seconds(host.monotonicMs() - beganMs);
  complain(
    `Exported ${count} events of ${session.environment} in ${time}. The next time: --since ${next}`,
  );
  if (out !== STANDARD_STREAM) print(next);
}

async function writePages(
  session: Session,
  format: ExportFormat,
  since: string,
  write: (bytes: Uint8Array) => Promise<void>,
): Promise<{ readonly next: string; readonly count: number }> {
  const encoder = new TextEncoder();
  const { host, output } = session;
  const how = format === "events" ? { raw: true } : { format };
  const source = format === "events" ? undefined : await sourceOfEvents(session);
  let next = since;
  let count = 0;
  let saidMs = host.monotonicMs();
  for (;;) {
    const query = { from: next, limit: limits.feedPageMax, ...how };
    const page = await session.data({ path: "/_feed", query }) as unknown as Page;
    await write(encoder.encode(linesOfPage(page, source)));
    next = page.next;
    count += page.data.length;
    if (page.building) await new Promise((resolve) => setTimeout(resolve, BUILDING_PAUSE_MS));
    else if (page.up_to_date) return { next, count };
    if (host.monotonicMs() - saidMs < SAY_EVERY_MS) continue;
    saidMs = host.monotonicMs();
    output.note(`Exported ${count} events so far`);
  }
}

/** As `cloudEventSource()` has it, for erasures, which are no events of a stream. */
async function sourceOfEvents(session: Session): Promise<string> {
  return `/instances/${await session.instanceId()}/${session.environment}`;
}

/** Events and erasures in the order of the feed. With a `source` they are CloudEvents. */
export function linesOfPage({ data, erased = [] }: Page, source: string | undefined): string {
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
