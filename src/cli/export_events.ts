/**
 * `export --format` and `export --since`: the events of an environment behind a cursor, as lines or
 * as Parquet, from a running server. It says where to go on, so that the next export has what came
 * since.
 */

import { limits } from "../domain/limits.ts";
import type { ExportOptions } from "./export_environment.ts";
import { createExportFile, STANDARD_STREAM } from "./export_file.ts";
import { type Page, type PageWriter, writeLines } from "./export_pages.ts";
import type { Failure } from "./output.ts";
import { complain, print } from "./print.ts";
import { openSession, type Session } from "./session.ts";
import { EXIT_FAILED, EXIT_MISUSED, reasonOf } from "./settings.ts";
import { seconds } from "./transfer_settings.ts";

/** What a line is, the event as stored or as a CloudEvent; or a table. */
export const EXPORT_FORMATS = ["events", "cloudevents", "parquet"] as const;
type ExportFormat = (typeof EXPORT_FORMATS)[number];

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
  const source = format === "cloudevents" ? await sourceOfEvents(session) : undefined;
  const writer = format === "parquet"
    ? (await import("./export_parquet.ts")).writeParquet(file.write)
    : writeLines(file.write, source);
  const written = await writePages(session, format, since, writer).then(async (pages) => {
    if (!("error" in pages)) await file.publish();
    return pages;
  }).catch((error) => ({ error: `${out}: ${reasonOf(error)}`, error_type: "not_written" }));
  if ("error" in written) {
    await file.discard().catch(() => {});
    return output.fail(written);
  }
  const { next, count } = written;
  const time = seconds(host.monotonicMs() - beganMs);
  complain(
    `Exported ${count} events of ${session.environment} in ${time}. The next time: --since ${next}`,
  );
  if (out !== STANDARD_STREAM) print(next);
}

const QUERIES: Readonly<Record<ExportFormat, { readonly raw?: true; readonly format?: string }>> = {
  events: { raw: true },
  cloudevents: { format: "cloudevents" },
  parquet: {},
};

async function writePages(
  session: Session,
  format: ExportFormat,
  since: string,
  writer: PageWriter,
): Promise<{ readonly next: string; readonly count: number } | Failure> {
  const { host, output } = session;
  let next = since;
  let count = 0;
  let saidMs = host.monotonicMs();
  for (;;) {
    const query = { from: next, limit: limits.feedPageMax, ...QUERIES[format] };
    const answer = await session.tryData({ path: "/_feed", query });
    if (!answer.ok) return answer.failure;
    const page = answer.body as unknown as Page;
    await writer.write(page);
    next = page.next;
    count += page.data.length;
    if (page.building) await new Promise((resolve) => setTimeout(resolve, BUILDING_PAUSE_MS));
    else if (page.up_to_date) break;
    if (host.monotonicMs() - saidMs < SAY_EVERY_MS) continue;
    saidMs = host.monotonicMs();
    output.note(`Exported ${count} events so far`);
  }
  await writer.finish();
  return { next, count };
}

/** As `cloudEventSource()` has it, for erasures, which are no events of a stream. */
async function sourceOfEvents(session: Session): Promise<string> {
  return `/instances/${await session.instanceId()}/${session.environment}`;
}
