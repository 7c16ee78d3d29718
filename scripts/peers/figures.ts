/**
 * The file of raw figures: what every work of every peer gave, when, and on which machine. It is
 * written after each, so that a run that was cut short can go on, and one figure be taken again.
 */

import type { Outcome } from "./works.ts";

/** One work of one peer. */
export interface Entry {
  readonly peer: string;
  readonly work: string;
  /** Of `SIZES`. */
  readonly sizes: string;
  readonly startedAt: string;
  readonly seconds: number;
  /** Processes that wanted a core when it began, over the minute before. */
  readonly load: number;
  /** Of this repository. */
  readonly commit: string;
  readonly outcomes: readonly Outcome[];
  /** Why there are no outcomes. */
  readonly failure?: string;
}

export interface Figures {
  readonly machine: readonly string[];
  readonly versions: Readonly<Record<string, string>>;
  /** Milliseconds of an fdatasync of 4 KiB. */
  readonly sync: { readonly p50: number; readonly p99: number };
  readonly entries: readonly Entry[];
}

/** Undefined when there is no such file. */
export async function readFigures(path: string): Promise<Figures | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The old file is there until the new one is whole. */
export async function writeFigures(path: string, figures: Figures): Promise<void> {
  await Deno.writeTextFile(`${path}.new`, JSON.stringify(figures, null, 2) + "\n");
  await Deno.rename(`${path}.new`, path);
}

/** With the entry in the place of an older one of the same work of the same peer. */
export function withEntry(figures: Figures, entry: Entry): Figures {
  const others = figures.entries.filter(({ peer, work }) =>
    peer !== entry.peer || work !== entry.work
  );
  return { ...figures, entries: [...others, entry] };
}

/** True when it was measured: what failed, or was left out for want of time, is not. */
export function isMeasured(figures: Figures, peer: string, work: string): boolean {
  return figures.entries.some((each) =>
    each.peer === peer && each.work === work && each.failure === undefined
  );
}
