/**
 * The data of the style check: limits, refused names and calls, and which test covers which
 * file.
 */

/** The rows are tried from the top; the first whose folder holds the file applies. */
export const FILE_LINES_MAX: readonly (readonly [folder: string, lines: number])[] = [
  ["tests", 600],
  ["scripts", 600],
  ["src", 400],
  ["main.ts", 400],
];
export const FUNCTION_LINES_MAX = 70;
export const LINE_COLUMNS_MAX = 100;
/** A string of at least this many columns excuses its line, because it cannot be broken well. */
export const LONG_TEXT_COLUMNS = 40;

/** Names that say nothing about the content. */
export const REFUSED_NAMES: ReadonlySet<string> = new Set([
  "utils",
  "util",
  "helpers",
  "helper",
  "common",
  "lib",
  "misc",
  "types",
]);

/** The only two files that may touch the clock, randomness, the network and the environment. */
export const WORLD_FILES: ReadonlySet<string> = new Set(["src/host.ts", "src/config.ts"]);

/** Calls and properties refused elsewhere in `main.ts` and `src/`, as they are written. */
export const REFUSED_PROPERTIES: ReadonlySet<string> = new Set([
  "Date.now",
  "Math.random",
  "crypto.getRandomValues",
  "crypto.randomUUID",
  "globalThis.fetch",
  "Deno.env",
  "process.env",
]);
export const REFUSED_CALLS: ReadonlySet<string> = new Set(["fetch", "randomUUID", "Date"]);

/** Folders in which a class may be something other than an error: it holds an open resource. */
export const CLASS_FOLDERS: readonly string[] = ["src/kv", "src/runners", "tests", "scripts"];

/** Words that mark unfinished work, joined here so that this file does not contain them. */
export const UNFINISHED_WORDS: readonly string[] = ["TO" + "DO", "FIX" + "ME", "X" + "XX"];
