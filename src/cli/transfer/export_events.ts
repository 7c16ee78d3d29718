/**
 * `export --format`, `--since` and `--projection`: from a running server, the events of an
 * environment behind a cursor, as lines or as Parquet, or the rows of a projection as Parquet. Of
 * events it says where to go on, so that the next export has what came since.
 */

import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { nameHint } from "../../domain/nearest_name.ts";
import type { Column, ColumnType } from "../../domain/projection/ready_projection.ts";
import type { ExportOptions } from "./export_environment.ts";
import { createExportFile, type ExportFile, STANDARD_STREAM } from "./export_file.ts";
import type { Kind, Row } from "./export_parquet.ts";
import { type Page, type PageWriter, writeLines } from "./export_pages.ts";
import type { Failure } from "../terminal/output.ts";
import { complain, print } from "../terminal/print.ts";
import { openSession, type Session } from "../connection/session.ts";
import { EXIT_FAILED, EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";
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
  if (options.projection !== undefined) return await exportRows(session, options, format);
  const beganMs = host.monotonicMs();
  const file = await createExportFile(out).catch((error) =>
    output.fail({ error: reasonOf(error), error_type: "misused" }, EXIT_FAILED)
  );
  const source = format === "cloudevents" ? await sourceOfEvents(session) : undefined;
  const writer = format === "parquet"
    ? (await import("./export_parquet.ts")).writeParquet(file.write)
    : writeLines(file.write, source);
  const write = () => writePages(session, format, since, writer);
  const { next, count } = await publishOrExit(session, file, out, write);
  const time = seconds(host.monotonicMs() - beganMs);
  complain(
    `Exported ${count} events of ${session.environment} in ${time}. The next time: --since ${next}`,
  );
  if (out !== STANDARD_STREAM) print(next);
}

/** Gives the file its name once everything is in it; else removes it, and ends the process. */
async function publishOrExit<T extends object>(
  { output }: Session,
  file: ExportFile,
  out: string,
  write: () => Promise<T | Failure>,
): Promise<T> {
  const written = await write().then(async (done) => {
    if (!("error" in done)) await file.publish();
    return done;
  }).catch((error) => ({ error: `${out}: ${reasonOf(error)}`, error_type: "not_written" }));
  if (!("error" in written)) return written;
  await file.discard().catch(() => {});
  return output.fail(written as Failure);
}

const ROWS_PAGE = 200;

/** What the columns of a projection are in Parquet, by their types. */
const KINDS: Readonly<Record<ColumnType, Kind>> = {
  string: "text",
  integer: "integer",
  number: "number",
  boolean: "boolean",
  timestamp: "time",
  json: "json",
  any: "json",
};

async function exportRows(
  session: Session,
  { out, projection, since }: ExportOptions,
  format: ExportFormat,
): Promise<void> {
  const { output, environment } = session;
  const name = projection!;
  if (format !== "parquet" || since !== undefined) {
    const error = "--projection needs --format parquet, and goes without --since.";
    return output.fail({ error, error_type: "misused" }, EXIT_MISUSED);
  }
  const columns = await columnsOrExit(session, name);
  const kinds = Object.fromEntries(columns.map((column) => [column.name, KINDS[column.type]]));
  const file = await createExportFile(out).catch((error) =>
    output.fail({ error: reasonOf(error), error_type: "misused" }, EXIT_FAILED)
  );
  const { openTable } = await import("./export_parquet.ts");
  const table = openTable(file.write, { key: "text", ...kinds });
  const count = await publishOrExit(session, file, out, async () => {
    let [start, count]: [string | undefined, number] = [undefined, 0];
    for (;;) {
      const query = { limit: ROWS_PAGE, start };
      const answer = await session.tryData({ path: `/_projections/${name}`, query });
      if (!answer.ok) return answer.failure;
      const rows = answer.body.data as unknown as readonly ProjectionRow[];
      if (rows.some(({ data }) => data !== null && !hasColumns(data, columns))) {
        const error = `The columns of '${name}' were changed while it was exported.`;
        return { error, error_type: "changed", hint: "Run the same command again." };
      }
      await table.write(rows.map((row) => rowOf(row, kinds)));
      count += rows.length;
      if (answer.body.truncated !== true) break;
      start = rows.at(-1)?.metadata.key;
    }
    await table.finish();
    return { count };
  });
  complain(`Exported ${count.count} rows of ${name} in ${environment}.`);
}

interface ProjectionRow {
  readonly data: JsonObject | null;
  readonly metadata: { readonly key: string };
}

interface Projection {
  readonly name: string;
  readonly columns?: readonly Column[];
  readonly lag: number;
}

const LAG_MS_MAX = 2_000;
const LAG_LOOK_MS = 100;

/** Also waits for a moment until the rows show everything written before, as the CSV does. */
async function columnsOrExit(session: Session, name: string): Promise<readonly Column[]> {
  const path = `/api/instances/${await session.instanceId()}/projections`;
  const query = { environment: session.environment, limit: ROWS_PAGE };
  const beganMs = session.host.monotonicMs();
  let all: readonly Projection[];
  for (;;) {
    const { data } = await session.operator({ path, query });
    all = data as unknown as readonly Projection[];
    const found = all.find((each) => each.name === name);
    if (found?.columns === undefined || found.columns.length === 0) break;
    const isLate = session.host.monotonicMs() - beganMs >= LAG_MS_MAX;
    if (found.lag === 0 || isLate) return found.columns;
    await new Promise((resolve) => setTimeout(resolve, LAG_LOOK_MS));
  }
  const names = all.map((each) => each.name);
  return session.output.fail({
    error: `There is no projection '${name}' that can be read.`,
    error_type: "not_found",
    hint: nameHint(name, names) ?? `There are: ${names.join(", ") || "none"}.`,
  });
}

function hasColumns(data: JsonObject, columns: readonly Column[]): boolean {
  return Object.keys(data).length === columns.length &&
    columns.every(({ name }) => Object.hasOwn(data, name));
}

function rowOf({ data, metadata }: ProjectionRow, kinds: Readonly<Record<string, Kind>>): Row {
  const cells = Object.entries(data ?? {}).map(([name, value]) => [
    name,
    value === null ? null : cellOf(value, kinds[name]!),
  ]);
  return { ...Object.fromEntries(cells), key: metadata.key };
}

function cellOf(value: JsonValue, kind: Kind): Row[string] {
  if (kind === "json") return JSON.stringify(value);
  if (kind === "integer") return BigInt(value as number);
  return kind === "time" ? new Date(value as string) : value as string | number | boolean;
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
