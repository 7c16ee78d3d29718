/**
 * The data of the style check: limits, refused names and calls, and which test covers which
 * file.
 */

/** The rows are tried from the top; the first whose folder holds the file applies. */
export const FILE_LINES_MAX: readonly (readonly [folder: string, lines: number])[] = [
  ["tests", 600],
  ["scripts", 600],
  ["src", 400],
  ["sdk", 400],
  ["console", 400],
  ["main.ts", 400],
];
/** A folder of the product with more files of its own is two rooms. */
export const FOLDER_FILES_MAX = 25;
export const PRODUCT_FOLDERS = ["src", "sdk", "console"];
export const FUNCTION_LINES_MAX = 70;
export const LINE_COLUMNS_MAX = 100;
/** More than this many positional parameters tell a reader nothing at the call. */
export const PARAMETERS_MAX = 4;

export interface LongSignatures {
  /** A file or folder; the first row that holds a function excuses it. */
  readonly place: string;
  /** At most so many functions there have more parameters. */
  readonly count: number;
  readonly reason: string;
}

export const LONG_SIGNATURES: readonly LongSignatures[] = [
  {
    place: "src/store/keys.ts",
    count: 6,
    reason: "the parameters are the parts of a key, in their order",
  },
  {
    place: "src/store/deployment_keys.ts",
    count: 2,
    reason: "as above",
  },
  {
    place: "src/http/decode/json_fault.ts",
    count: 4,
    reason: "a library calls them so",
  },
  {
    place: "src/features/writes",
    count: 20,
    reason: "the steps of a write are to be joined, which changes what they pass on",
  },
  {
    place: "src/http",
    count: 7,
    reason: "routes are to be made from rows, which changes what handlers take",
  },
];
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

/**
 * The only files that may touch the clock, randomness, the network and the environment. The third
 * draws what its hash is made of before anything else runs.
 */
export const WORLD_FILES: ReadonlySet<string> = new Set([
  "src/host.ts",
  "src/config.ts",
  "src/domain/lookup/text_map.ts",
]);

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

/** Where `JSON.parse` may be called. */
export const PARSING_FOLDER = "src/domain/json_text";

/** Folders in which a class may be something other than an error: it holds an open resource. */
export const CLASS_FOLDERS: readonly string[] = [
  "src/kv",
  "src/runners",
  "src/domain/lookup",
  "tests",
  "scripts",
];

/** Words that mark unfinished work, joined here so that this file does not contain them. */
export const UNFINISHED_WORDS: readonly string[] = ["TO" + "DO", "FIX" + "ME", "X" + "XX"];
