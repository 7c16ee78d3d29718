/**
 * Keeps what a round of an export has read until it is needed. The items are JSON lines in a
 * temporary folder, read back once in the order in which they were written.
 */

import type { Spool } from "../features/transfer/export_environment.ts";
import { createLineSplitter } from "../domain/transfer/split_lines.ts";

const OWNER_ONLY = 0o600;

export interface ExportSpool<T> extends Spool<T> {
  /** Removes the folder. */
  close(): Promise<void>;
}

export async function openExportSpool<T>(): Promise<ExportSpool<T>> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_export_" });
  const encoder = new TextEncoder();
  let turns = 0;

  function path(turn: number): string {
    return `${folder}/turn_${turn}`;
  }

  return {
    async append(items) {
      const text = items.map((item) => JSON.stringify(item) + "\n").join("");
      const options = { append: true, create: true, mode: OWNER_ONLY };
      await Deno.writeFile(path(turns), encoder.encode(text), options);
    },
    async turn() {
      const before = turns++;
      if (before > 0) await removeIfThere(path(before - 1));
      return readBack<T>(path(before));
    },
    close: () => Deno.remove(folder, { recursive: true }),
  };
}

async function* readBack<T>(path: string): AsyncGenerator<T> {
  const file = await openIfThere(path);
  if (file === undefined) return;
  const decoder = new TextDecoder();
  const splitter = createLineSplitter();
  for await (const chunk of file.readable) {
    for (const line of splitter.push(chunk)) yield JSON.parse(decoder.decode(line));
  }
}

/** Returns undefined if nothing was appended: the round was empty, or memory could hold it. */
async function openIfThere(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
