/**
 * The file of raw figures: what every work of every peer gave, when, and on which machine. It
 * is written after each work, so that an interrupted run can be resumed and a single figure
 * measured again.
 */

import type { Outcome } from "./work.ts";

/** One work of one peer. */
export interface Entry {
  readonly peer: string;
  readonly work: string;
  /** A key of `SIZES`. */
  readonly sizes: string;
  readonly startedAt: string;
  readonly seconds: number;
  /** The load average at its beginning: processes that wanted a core, over the minute before. */
  readonly load: number;
  /** The commit of this repository. */
  readonly commit: string;
  readonly outcomes: readonly Outcome[];
  /** Why it ended early, or has no outcomes. */
  readonly failure?: string;
}

export interface Figures {
  readonly machine: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  /** Milliseconds of an fdatasync of 4 KiB. */
  readonly sync: { readonly p50: number; readonly p99: number };
  readonly entries: readonly Entry[];
}

/** Undefined if there is no such file. */
export async function readFigures(path: string): Promise<Figures | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The old file stays until the new one is complete. */
export async function writeFigures(path: string, figures: Figures): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, JSON.stringify(figures, null, 2) + "\n");
  await Deno.rename(`${path}.new`, path);
}

/** Returns the figures with the entry in place of an older one of the same peer and work. */
export function withEntry(figures: Figures, entry: Entry): Figures {
  const others = figures.entries.filter(({ peer, work }) =>
    peer !== entry.peer || work !== entry.work
  );
  return { ...figures, entries: [...others, entry] };
}

/**
 * Returns true if it was measured. A work that failed, or was left out for lack of time, was
 * not.
 */
export function isMeasured(figures: Figures, peer: string, work: string): boolean {
  return figures.entries.some((each) =>
    each.peer === peer && each.work === work && each.failure === undefined
  );
}
