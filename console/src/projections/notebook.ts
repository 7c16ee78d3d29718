/** The notebook of one server, instance and environment, as the browser keeps it. */

import { type ReadonlySignal, signal } from "@preact/signals";
import { type Cell, faultOfSize, formatNotebook, parseNotebook } from "./notebook_file.ts";

export interface Notebook {
  readonly cells: ReadonlySignal<readonly Cell[]>;
  /** Why the last change is not kept, or was not made. */
  readonly fault: ReadonlySignal<string | undefined>;
  /** Returns the id of the new cell, or of one that says the same already. */
  add(cell: Omit<Cell, "id">): string | undefined;
  change(id: string, change: Partial<Omit<Cell, "id">>): void;
  remove(id: string): void;
  /** Adds the cells of an exported notebook behind those that are there. */
  take(text: string): void;
  /** Stops following what other tabs change. */
  close(): void;
}

/** `name`: what it is kept under. The storage belongs to the address of the server already. */
export function openNotebook(name: string): Notebook {
  let made = 0;
  const withId = (cell: Omit<Cell, "id">): Cell => ({ ...cell, id: `cell_${++made}` });
  const cells = signal<readonly Cell[]>(read());
  const fault = signal<string | undefined>(undefined);

  function read(): readonly Cell[] {
    const parsed = parseNotebook(localStorage.getItem(name) ?? "");
    return parsed.ok ? parsed.cells.map(withId) : [];
  }

  function keep(changed: readonly Cell[]): void {
    cells.value = changed;
    const text = formatNotebook(changed);
    const tooLarge = faultOfSize(text, changed.length);
    fault.value = tooLarge && `${tooLarge}. The last change is not kept.`;
    if (tooLarge !== undefined) return;
    try {
      localStorage.setItem(name, text);
    } catch {
      fault.value = "The browser has no room for this notebook. The last change is not kept.";
    }
  }

  function onStorage({ key }: StorageEvent): void {
    if (key === name) cells.value = read();
  }
  addEventListener("storage", onStorage);

  return {
    cells,
    fault,
    add(cell) {
      const known = cells.peek().find(({ sql, params }) =>
        sql === cell.sql && JSON.stringify(params) === JSON.stringify(cell.params)
      );
      if (known !== undefined) return known.id;
      const added = withId(cell);
      fault.value = faultOfSize("", cells.peek().length + 1);
      if (fault.value !== undefined) return undefined;
      keep([...cells.peek(), added]);
      return added.id;
    },
    change(id, change) {
      keep(cells.peek().map((cell) => cell.id === id ? { ...cell, ...change } : cell));
    },
    remove(id) {
      keep(cells.peek().filter((cell) => cell.id !== id));
    },
    take(text) {
      const parsed = parseNotebook(text);
      if (!parsed.ok) {
        fault.value = parsed.error;
        return;
      }
      const all = [...cells.peek(), ...parsed.cells.map(withId)];
      fault.value = faultOfSize(formatNotebook(all), all.length);
      if (fault.value === undefined) keep(all);
    },
    close: () => removeEventListener("storage", onStorage),
  };
}
