/** `#/projections/sql`: a notebook of statements, with the tables that they can use beside it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { LoadingView } from "../parts/loading_view.tsx";
import { saveFile } from "../parts/save_file.ts";
import { scopeOf } from "../proof/key_rows.ts";
import { about, connection } from "../shell/connection.ts";
import { useLoaded } from "../shell/loaded.ts";
import type { PinScope } from "../shell/pins.ts";
import { place, setQuery } from "../shell/router.ts";
import { NotebookCell } from "./notebook_cell.tsx";
import { formatNotebook, NOTEBOOK_LIMITS } from "./notebook_file.ts";
import { type Notebook, openNotebook } from "./notebook.ts";
import { quoted } from "./table_query.ts";

/** Answers may have 8 MiB each. */
const ANSWERS_KEPT_MAX = 10;

/** Each environment of each instance has its notebook. The server says which a key belongs to. */
export function NotebookView() {
  const { db, instanceId } = connection.value;
  const { environment } = about.value!;
  const owner = useLoaded(async (signal) => {
    if (instanceId !== undefined) {
      return { ok: true as const, scope: { instanceId, environment } };
    }
    const signing = await db.$audit.signingKey({ signal });
    return signing.ok ? { ok: true as const, scope: scopeOf(signing, { environment }) } : signing;
  }, [db, instanceId, environment]);
  return (
    <LoadingView of={owner}>
      {({ scope }) => scope === undefined ? <NoOwner /> : <NotebookOf {...scope} />}
    </LoadingView>
  );
}

function NoOwner() {
  return (
    <p class="note danger" role="alert">
      The server does not say which instance the key belongs to, so it has no notebook.
    </p>
  );
}

function NotebookOf({ instanceId, environment }: PinScope) {
  const notebook = useMemo(
    () => openNotebook(`daybook.notebook.${instanceId}.${environment}`),
    [instanceId, environment],
  );
  useEffect(() => notebook.close, [notebook]);
  const [chosen, setChosen] = useState<string>();
  const [ran, setRan] = useState<readonly string[]>([]);
  const { sql, params } = place.value.query;
  useEffect(() => {
    if (sql === undefined) return;
    // The address of a statement opens it once; what becomes of the cell is the notebook's.
    setChosen(notebook.add({ sql, params: parseParams(params) }));
    setQuery({ sql: undefined, params: undefined });
  }, [sql, params]);

  const add = (sql: string) => setChosen(notebook.add({ sql, params: {} }));
  const cells = notebook.cells.value;
  return (
    <div class="notebook">
      <div>
        <Actions notebook={notebook} />
        {notebook.fault.value !== undefined && (
          <p class="note warning" role="alert">{notebook.fault.value}</p>
        )}
        {cells.map((cell, index) => (
          <NotebookCell
            key={cell.id}
            cell={cell}
            number={index + 1}
            notebook={notebook}
            isChosen={cell.id === chosen}
            isKept={ran.includes(cell.id)}
            onRun={() =>
              setRan([cell.id, ...ran.filter((id) => id !== cell.id)].slice(0, ANSWERS_KEPT_MAX))}
          />
        ))}
        {cells.length === 0 && (
          <p>
            The notebook is empty. A cell has one <code>SELECT</code> over your projections.
          </p>
        )}
        <button type="button" onClick={() => add("")}>Add a cell</button>
      </div>
      <Tables onOpen={add} />
    </div>
  );
}

/** Parameters of an address that somebody may have changed. */
function parseParams(text = "{}"): Record<string, string> {
  try {
    const entries = Object.entries(JSON.parse(text) ?? {});
    return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
  } catch {
    return {};
  }
}

function Actions({ notebook }: { notebook: Notebook }) {
  const input = useRef<HTMLInputElement>(null);

  async function take(): Promise<void> {
    const file = input.current!.files?.[0];
    // A larger file is not even read; what stands in its place says why.
    if (file !== undefined) {
      notebook.take(await file.slice(0, NOTEBOOK_LIMITS.bytesMax + 1).text());
    }
    input.current!.value = "";
  }

  return (
    <div class="row">
      <p class="quiet grow">
        Kept in this browser only, also after you sign out. <kbd>Ctrl</kbd>+<kbd>Enter</kbd>{" "}
        runs a cell.
      </p>
      <button
        type="button"
        disabled={notebook.cells.value.length === 0}
        onClick={() =>
          saveFile(
            "notebook.json",
            new Blob([formatNotebook(notebook.cells.peek())], { type: "application/json" }),
          )}
      >
        Export
      </button>
      <label class="button">
        Import
        <input
          ref={input}
          class="unseen"
          type="file"
          accept="application/json,.json"
          onChange={take}
        />
      </label>
    </div>
  );
}

function Tables({ onOpen }: { onOpen: (sql: string) => void }) {
  const { admin } = connection.value;
  return (
    <aside aria-label="Tables">
      <h2>Tables</h2>
      {admin === undefined ? <TableByName onOpen={onOpen} /> : <TableList onOpen={onOpen} />}
    </aside>
  );
}

function sampleOf(name: string): string {
  return `SELECT * FROM ${quoted(name)} LIMIT 100`;
}

function TableList({ onOpen }: { onOpen: (sql: string) => void }) {
  const admin = connection.value.admin!;
  const page = useLoaded((signal) => admin.projections.listPage({ limit: 100, signal }), [admin]);
  return (
    <LoadingView of={page}>
      {({ data }) =>
        data.length === 0
          ? <p class="quiet">No projection is deployed, so there is no table.</p>
          : data.map(({ name, columns, state }) => (
            <details key={name}>
              <summary>
                <code>{name}</code> {state !== "ready" && <span class="quiet">{state}</span>}
              </summary>
              <ul class="plain-list">
                <li>
                  <code>key</code> <span class="quiet">string</span>
                </li>
                {columns.map((column) => (
                  <li key={column.name}>
                    <code>{column.name}</code> <span class="quiet">{column.type}</span>
                  </li>
                ))}
              </ul>
              <button type="button" class="small" onClick={() => onOpen(sampleOf(name))}>
                Look at {name}
              </button>
            </details>
          ))}
    </LoadingView>
  );
}

function TableByName({ onOpen }: { onOpen: (sql: string) => void }) {
  const [name, setName] = useState("");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onOpen(sampleOf(name.trim()));
      }}
    >
      <Field
        label="Table"
        hint="A key cannot list the projections, but reads each by its name."
        value={name}
        required
        onInput={setName}
      />
      <button type="submit">Look at it</button>
    </form>
  );
}
