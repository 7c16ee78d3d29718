/** `sql`: runs a query over the projections of an environment. */

import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { print } from "../terminal/print.ts";
import { type CommonOptions, openSession } from "../connection/session.ts";
import { counted } from "../spec/show_data_check.ts";
import { showTable, toCsv } from "../terminal/table.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface SqlOptions extends CommonOptions {
  readonly csv?: boolean;
  readonly param?: readonly string[];
  readonly stale?: boolean;
}

export async function sql(text: string, options: SqlOptions): Promise<void> {
  const session = await openSession(options);
  const { output } = session;
  const statement = text === "-" ? await new Response(Deno.stdin.readable).text() : text;
  const progress = output.progress("Running the query");
  const answer = await session.tryData({
    method: "POST",
    path: "/_projections/query",
    body: {
      sql: statement,
      ...(options.param && { params: options.param.map(valueOf) }),
      ...(options.stale && { stale: true }),
    },
  });
  progress.end();
  if (!answer.ok) return output.fail(answer.failure);
  const { ok: _, ...result } = answer.body;
  const columns = result.columns as string[];
  const rows = (result.rows as JsonObject[]).map((row) => columns.map((name) => row[name] ?? null));
  if (options.csv && !output.json) return print(toCsv(columns, rows));
  output.result(result, () => {
    const cut = result.truncated === true ? "; there are more than one answer may have" : "";
    return `${showTable(columns, rows)}\n${output.paint("dim", counted(rows.length, "row") + cut)}`;
  });
}

/** A number, true, false or null as in JSON; everything else is a text. */
function valueOf(text: string): JsonValue {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? text : value;
  } catch {
    return text;
  }
}
