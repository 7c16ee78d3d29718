/** One projection as a table: sorted and filtered by the server, shared by its address. */

import { useState } from "preact/hooks";
import type { Refusal, SqlAnswer } from "@daybook/client";
import { EmptyState } from "../parts/empty_state.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { VirtualTable } from "../parts/virtual_table.tsx";
import { connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import { hrefOf, place, setQuery } from "../shell/router.ts";
import { CsvDownload } from "./csv_download.tsx";
import { FreshnessText } from "./freshness.tsx";
import { RowDetail } from "./row_detail.tsx";
import {
  type Filter,
  FILTERS_MAX,
  formatFilters,
  parseFilters,
  type Scalar,
  scalarOf,
  statementOf,
  type TableView,
  type TestName,
  TESTS,
} from "./table_query.ts";

type Row = Record<string, unknown>;

export function ProjectionTable({ name }: { name: string }) {
  const { db } = connection.value;
  const { sort, order, where, stale, row } = place.value.query;
  const view: TableView = {
    sort: sort === undefined ? undefined : { column: sort, isDescending: order === "desc" },
    filters: parseFilters(where),
  };
  const statement = statementOf(name, view);
  const isStale = stale === "1";
  const rows = useLoaded<SqlAnswer<Row>>(
    (signal) =>
      db.$sql<Row>(statement.sql, statement.params, { signal, stale: isStale || undefined }),
    [db, JSON.stringify(statement), isStale],
  );
  const { value, refusal, isLoading } = rows.now.value;
  return (
    <>
      <p>
        <a href={hrefOf(["projections"])}>All projections</a>
      </p>
      <h2>{name}</h2>
      {value !== undefined && <Filters columns={value.columns} filters={view.filters} />}
      <div class="row">
        <button type="button" onClick={rows.reload}>Reload</button>
        <CsvDownload name={name} isStale={isStale} />
        <a
          class="button"
          href={hrefOf(["projections", "sql"], {
            sql: statement.sql,
            params: JSON.stringify(Object.fromEntries(
              statement.params.map((value, index) => [index + 1, typedOf(value)]),
            )),
          })}
        >
          Open as SQL
        </a>
        {isLoading && <span class="quiet" role="status">Loading</span>}
      </div>
      {refusal !== undefined && (
        <Refused refusal={refusal} filters={view.filters} onRetry={rows.reload} />
      )}
      {value !== undefined && <Rows name={name} answer={value} view={view} />}
      {row !== undefined && <RowDetail key={row} projection={name} row={row} isStale={isStale} />}
    </>
  );
}

/** A value as it is typed, so that it is taken for the same. */
function typedOf(value: Scalar): string {
  return typeof value === "string" && scalarOf(value) === value ? value : JSON.stringify(value);
}

interface RowsProps {
  readonly name: string;
  readonly answer: SqlAnswer<Row>;
  readonly view: TableView;
}

function Rows({ name, answer, view }: RowsProps) {
  const { columns, rows, truncated } = answer;
  const { query, path } = place.value;

  /** First ascending, then descending, then as before. */
  function sortBy(column: string): void {
    const { sort } = view;
    if (sort?.column !== column) return setQuery({ sort: column, order: undefined });
    if (!sort.isDescending) return setQuery({ order: "desc" });
    setQuery({ sort: undefined, order: undefined });
  }

  if (rows.length === 0) {
    return (
      <EmptyState title="No rows">
        {view.filters.length > 0
          ? "No row passes all filters."
          : "Each aggregate of the type gets a row when its first event is written."}
      </EmptyState>
    );
  }
  const count = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
  return (
    <>
      <p role="status">
        {truncated ? `The first ${count}: filters find others. ` : `${count}. `}
        <FreshnessText {...answer} />
      </p>
      <VirtualTable
        label={`Rows of ${name}`}
        columns={columns}
        rows={rows}
        sort={view.sort ?? { column: "key", isDescending: false }}
        onSort={sortBy}
        lead={({ key }, index) => (
          <a
            href={hrefOf(path, { ...query, row: String(key) })}
            aria-label={`Row ${index + 1}: ${key}`}
          >
            {(index + 1).toLocaleString("en")}
          </a>
        )}
      />
    </>
  );
}

interface RefusedProps {
  readonly refusal: Refusal;
  readonly filters: readonly Filter[];
  readonly onRetry: () => void;
}

function Refused({ refusal, filters, onRetry }: RefusedProps) {
  return (
    <>
      <RefusalNote refusal={refusal} onRetry={onRetry} />
      <div class="row">
        {refusal.error_type === "projection_broken" && (
          <button
            type="button"
            onClick={() => setQuery({ stale: "1" })}
          >
            Show the last good rows
          </button>
        )}
        {filters.length > 0 && (
          <button
            type="button"
            onClick={() => setQuery({ where: undefined, sort: undefined })}
          >
            Remove the filters
          </button>
        )}
      </div>
    </>
  );
}

interface FiltersProps {
  readonly columns: readonly string[];
  readonly filters: readonly Filter[];
}

function Filters({ columns, filters }: FiltersProps) {
  const [column, setColumn] = useState(columns[0]!);
  const [test, setTest] = useState<TestName>("is");
  const [value, setValue] = useState("");
  const setFilters = (all: readonly Filter[]) => setQuery({ where: formatFilters(all) });

  function add(event: SubmitEvent): void {
    event.preventDefault();
    setFilters([...filters, { column, test, value: TESTS[test].needsValue ? value : "" }]);
    setValue("");
  }

  return (
    <section aria-label="Filters">
      {filters.length > 0 && (
        <ul class="filters">
          {filters.map((filter, index) => (
            <li key={index}>
              <bdi>{filter.column}</bdi> {TESTS[filter.test].title} <bdi>{filter.value}</bdi>{" "}
              <button
                type="button"
                class="small"
                aria-label={`Remove the filter on ${filter.column}`}
                onClick={() => setFilters(filters.filter((_, at) => at !== index))}
              >
                Remove
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="row" aria-label="New filter" onSubmit={add}>
        <Choice
          label="Column"
          value={column}
          options={columns.map((name) => [name, name])}
          onChange={setColumn}
        />
        <Choice
          label="Test"
          value={test}
          options={Object.entries(TESTS).map(([name, { title }]) => [name, title])}
          onChange={(name) => setTest(name as TestName)}
        />
        {TESTS[test].needsValue && <Field label="Value" value={value} onInput={setValue} />}
        <button type="submit" disabled={filters.length >= FILTERS_MAX}>Filter</button>
      </form>
    </section>
  );
}
