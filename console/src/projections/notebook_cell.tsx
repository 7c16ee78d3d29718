/** One cell of the notebook: a statement, its parameters, and what it gave when it last ran. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import type { Refusal, SqlAnswer } from "@daybook/client";
import { CopyButton } from "../parts/copy_button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { JsonView } from "../parts/json_view.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { saveFile } from "../parts/save_file.ts";
import { VirtualTable } from "../parts/virtual_table.tsx";
import { connection } from "../shell/connection.ts";
import { hrefOf } from "../shell/router.ts";
import { Chart } from "./chart.tsx";
import { numericColumns, type Row } from "./chart_data.ts";
import { csvOf } from "./csv_text.ts";
import { FreshnessText } from "./freshness.tsx";
import type { Notebook } from "./notebook.ts";
import type { Cell } from "./notebook_file.ts";
import { type Parameters, PARAMETERS_MAX, parametersOf, valuesOf } from "./sql_parameters.ts";

export interface NotebookCellProps {
  readonly cell: Cell;
  /** From 1. */
  readonly number: number;
  readonly notebook: Notebook;
  /** Whether it should have the focus. */
  readonly isChosen: boolean;
  /** Whether what it gave may be kept, for only the newest are. */
  readonly isKept: boolean;
  readonly onRun: () => void;
}

type Outcome =
  | { readonly kind: "none" | "running" | "dropped" }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "answered"; readonly answer: SqlAnswer<Row> };

export function NotebookCell(props: NotebookCellProps) {
  const { cell, number, notebook, isChosen, isKept, onRun } = props;
  const { id, sql, params, chart } = cell;
  const [outcome, setOutcome] = useState<Outcome>({ kind: "none" });
  const editor = useRef<HTMLTextAreaElement>(null);
  const running = useRef(new AbortController());
  const parameters = useMemo(() => parametersOf(sql), [sql]);
  const name = useId();
  useEffect(() => {
    if (isChosen) editor.current!.focus();
  }, [isChosen]);
  useEffect(() => {
    if (!isKept && outcome.kind === "answered") setOutcome({ kind: "dropped" });
  }, [isKept]);
  useEffect(() => () => running.current.abort(), []);

  async function run(): Promise<void> {
    running.current.abort();
    const { signal } = running.current = new AbortController();
    onRun();
    setOutcome({ kind: "running" });
    const { db } = connection.peek();
    const answer = await db.$sql<Row>(sql, valuesOf(parameters, params), { signal });
    if (signal.aborted) return;
    setOutcome(
      answer.ok ? { kind: "answered", answer } : { kind: "refused", refusal: answer as Refusal },
    );
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void run();
  }

  // Thousands of rows are not looked through with each key that is typed into some cell.
  const answer = useMemo(
    () =>
      outcome.kind === "answered" && (
        <Answer
          number={number}
          answer={outcome.answer}
          chart={chart}
          onChart={(chart) => notebook.change(id, { chart })}
        />
      ),
    [outcome, number, chart, notebook, id],
  );

  return (
    <section class="card cell" aria-label={`Cell ${number}`} onKeyDown={onKeyDown}>
      <label class="unseen" for={name}>Statement of cell {number}</label>
      <textarea
        id={name}
        ref={editor}
        class="mono"
        rows={Math.min(12, Math.max(3, sql.split("\n").length))}
        spellcheck={false}
        value={sql}
        placeholder="SELECT ..."
        onInput={(event) => notebook.change(id, { sql: event.currentTarget.value })}
      />
      <ParameterFields
        parameters={parameters}
        typed={params}
        onInput={(params) => notebook.change(id, { params })}
      />
      <div class="row">
        <button type="button" class="primary" title="Ctrl+Enter" onClick={run}>Run</button>
        {outcome.kind === "running" && (
          <button
            type="button"
            onClick={() => {
              running.current.abort();
              setOutcome({ kind: "none" });
            }}
          >
            Stop
          </button>
        )}
        <CopyButton label="Copy link" text={() => linkTo(cell)} />
        <button type="button" class="small" onClick={() => notebook.remove(id)}>
          Delete cell {number}
        </button>
      </div>
      {outcome.kind === "running" && <p class="quiet" role="status">Running</p>}
      {outcome.kind === "dropped" && (
        <p class="quiet">Only the newest answers are kept. Run the cell again.</p>
      )}
      {outcome.kind === "refused" && <RefusalNote refusal={outcome.refusal} />}
      {answer}
    </section>
  );
}

function linkTo({ sql, params }: Cell): string {
  const query = { sql, params: JSON.stringify(params) };
  return location.origin + location.pathname + hrefOf(["projections", "sql"], query);
}

interface ParameterFieldsProps {
  readonly parameters: Parameters;
  readonly typed: Readonly<Record<string, string>>;
  readonly onInput: (typed: Readonly<Record<string, string>>) => void;
}

function ParameterFields({ parameters: { names, kind }, typed, onInput }: ParameterFieldsProps) {
  if (kind === "too_many") {
    return <Advice>The page has fields for {PARAMETERS_MAX} parameters at most.</Advice>;
  }
  if (kind === "mixed") {
    return <Advice>Use either names or question marks for parameters, not both.</Advice>;
  }
  if (names.length === 0) return null;
  return (
    <div class="row parameters">
      {names.map((name) => (
        <Field
          key={name}
          label={kind === "by_name" ? `:${name}` : `?${name}`}
          value={Object.hasOwn(typed, name) ? typed[name]! : ""}
          onInput={(value) => onInput({ ...typed, [name]: value })}
        />
      ))}
      <span class="hint">Numbers, true, false and null as in JSON; all else is a text.</span>
    </div>
  );
}

function Advice({ children }: { children: ComponentChildren }) {
  return <p class="note warning">{children}</p>;
}

interface AnswerProps extends Pick<NotebookCellProps, "number"> {
  readonly answer: SqlAnswer<Row>;
  readonly chart: Cell["chart"];
  readonly onChart: (chart: Cell["chart"]) => void;
}

function Answer({ number, answer, chart, onChart }: AnswerProps) {
  const { columns, rows, truncated } = answer;
  const [opened, setOpened] = useState<Row>();
  const count = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "row" : "rows"}`;
  return (
    <>
      <p role="status">
        {truncated ? `The first ${count}: the answer was longer. ` : `${count}. `}
        <FreshnessText {...answer} />
      </p>
      {rows.length > 0 && (
        <>
          <VirtualTable
            label={`Answer of cell ${number}`}
            columns={columns}
            rows={rows}
            lead={(row, index) => (
              <button
                type="button"
                class="plain"
                aria-label={`Row ${index + 1}`}
                onClick={() => setOpened(row)}
              >
                {(index + 1).toLocaleString("en")}
              </button>
            )}
          />
          <div class="row">
            <button
              type="button"
              onClick={() =>
                saveFile(
                  `query_${number}.csv`,
                  new Blob([csvOf(columns, rows)], { type: "text/csv" }),
                )}
            >
              Download CSV
            </button>
            <ChartChoice columns={columns} rows={rows} chart={chart} onChart={onChart} />
          </div>
          {chart !== undefined && columns.includes(chart.x) && columns.includes(chart.y) &&
            <Chart rows={rows} {...chart} />}
        </>
      )}
      <Dialog title="Row" isOpen={opened !== undefined} onClose={() => setOpened(undefined)}>
        <JsonView value={opened} />
        <button type="button" onClick={() => setOpened(undefined)}>Close</button>
      </Dialog>
    </>
  );
}

interface ChartChoiceProps extends Pick<AnswerProps, "chart" | "onChart"> {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

function ChartChoice({ columns, rows, chart, onChart }: ChartChoiceProps) {
  const numeric = useMemo(() => numericColumns(columns, rows), [columns, rows]);
  if (numeric.length === 0) return null;
  const x = chart?.x ?? columns.find((name) => name !== numeric[0]) ?? columns[0]!;
  return (
    <>
      <Choice
        label="Chart of"
        value={chart?.y ?? ""}
        options={[["", "nothing"], ...numeric.map((name) => [name, name] as const)]}
        onChange={(y) => onChart(y === "" ? undefined : { x, y })}
      />
      {chart !== undefined && (
        <Choice
          label="by"
          value={chart.x}
          options={columns.map((name) => [name, name])}
          onChange={(x) => onChart({ ...chart, x })}
        />
      )}
    </>
  );
}
