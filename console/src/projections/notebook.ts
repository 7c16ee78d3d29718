/**
 * The notebook of one server, instance and environment, as the browser keeps it. What is typed is
 * kept when the typing pauses, and before the page is hidden or left.
 */

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
  /** Keeps what is not kept yet, and stops following what other tabs change. */
  close(): void;
}

const KEPT_AFTER_MS = 500;

/** `name`: what it is kept under. The storage belongs to the address of the server already. */
export function openNotebook(name: string): Notebook {
  let made = 0;
  const withId = (cell: Omit<Cell, "id">): Cell => ({ ...cell, id: `cell_${++made}` });
  const cells = signal<readonly Cell[]>(read());
  const fault = signal<string | undefined>(undefined);
  /** Runs as long as there is something to keep. */
  let pause: ReturnType<typeof setTimeout> | undefined;

  function read(): readonly Cell[] {
    const parsed = parseNotebook(localStorage.getItem(name) ?? "");
    return parsed.ok ? parsed.cells.map(withId) : [];
  }

  function keep(changed: readonly Cell[]): void {
    clearTimeout(pause);
    pause = undefined;
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

  function keepRest(): void {
    if (pause !== undefined) keep(cells.peek());
  }

  function onStorage({ key }: StorageEvent): void {
    // What is being typed here stays, and is what is kept.
    if (key === name && pause === undefined) cells.value = read();
  }
  addEventListener("storage", onStorage);
  addEventListener("pagehide", keepRest);
  document.addEventListener("visibilitychange", keepRest);

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
      cells.value = cells.peek().map((cell) => cell.id === id ? { ...cell, ...change } : cell);
      clearTimeout(pause);
      pause = setTimeout(keepRest, KEPT_AFTER_MS);
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
    close() {
      keepRest();
      removeEventListener("storage", onStorage);
      removeEventListener("pagehide", keepRest);
      document.removeEventListener("visibilitychange", keepRest);
    },
  };
}
