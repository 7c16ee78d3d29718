/**
 * What the commands that call a server print: text for people, or JSON for programs. Results go to
 * standard output; notes, progress and failures go to standard error. With `--json` a failure is
 * JSON too, on standard output, so that a program always finds one answer there.
 */

import { complain, print, printPart } from "./print.ts";
import { EXIT_FAILED } from "./settings.ts";

/** Why a command failed, in the words of the API where the server refused. */
export interface Failure {
  readonly error: string;
  /** As in docs/reference/errors.md; of the command itself `unreachable`, `misused` and so on. */
  readonly error_type: string;
  /** What to do about it. */
  readonly hint?: string;
  /** What else the refusal says. */
  readonly [field: string]: unknown;
}

export type Colour = "red" | "green" | "yellow" | "blue" | "dim" | "bold";
export type Paint = (colour: Colour, text: string) => string;

export interface Output {
  readonly json: boolean;
  readonly paint: Paint;
  /** For what goes to standard error, as the hint of a failure does. */
  readonly paintError: Paint;
  /** The answer: `value` with `ok: true` for programs, else `text`. */
  result(value: object, text: () => string): void;
  /** One of many answers that come over time: a line of JSON, or text. */
  line(value: object, text: () => string): void;
  /** Something that people may like to know, on standard error; nothing for programs. */
  note(text: string): void;
  /** Shows that something is under way, at a terminal only. Call the result when it is over. */
  progress(text: string): Progress;
  fail(failure: Failure, code?: number): never;
}

export interface Progress {
  say(text: string): void;
  end(): void;
}

const CODES: Readonly<Record<Colour, number>> = {
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  dim: 2,
  bold: 1,
};
const PROGRESS_AFTER_MS = 200;
const ESCAPE = "\x1b";
const CLEAR_LINE = `\r${ESCAPE}[K`;

export function openOutput({ json = false }: { readonly json?: boolean }): Output {
  return {
    json,
    paint: painter(!json && Deno.stdout.isTerminal()),
    paintError: painter(!json && Deno.stderr.isTerminal()),
    result(value, text) {
      print(json ? JSON.stringify({ ok: true, ...value }, null, 2) : visible(text()));
    },
    line(value, text) {
      print(json ? JSON.stringify(value) : visible(text()));
    },
    note(text) {
      if (!json) complain(text);
    },
    progress: (text) => startProgress(text, !json && Deno.stderr.isTerminal()),
    fail: (failure, code = EXIT_FAILED) => fail(failure, code, json),
  };
}

/** Control characters but tabs and line ends, and marks that turn the direction of text. */
const OBEYED = /(?![\t\n])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
/** Our own colours, which are the only ones that stay. */
const COLOUR = new RegExp(`${ESCAPE}\\[(?:0|1|2|31|32|33|34)m`, "g");

/** Text from a server, with what a terminal would obey made visible; our colours stay. */
export function visible(text: string): string {
  const colours = text.match(COLOUR) ?? [];
  const parts = text.split(COLOUR).map((part) =>
    part.replace(OBEYED, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`)
  );
  return parts.map((part, at) => part + (colours[at] ?? "")).join("");
}

/** `NO_COLOR` turns all colours off: see https://no-color.org. */
function painter(isTerminal: boolean): Paint {
  if (!isTerminal || Deno.noColor) return (_, text) => text;
  return (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`;
}

function fail(failure: Failure, code: number, json: boolean): never {
  if (json) print(JSON.stringify({ ok: false, ...failure }, null, 2));
  else {
    complain(`${painter(Deno.stderr.isTerminal())("red", "error:")} ${visible(failure.error)}`);
    for (const line of placesIn(failure)) complain(`  ${visible(line)}`);
    if (failure.hint !== undefined) complain(visible(failure.hint).replace(/^/gm, "  "));
  }
  Deno.exit(code);
}

/** Where the faults of a refused write are, and what is wrong at each place. */
function placesIn({ path, details }: Failure): string[] {
  if (Array.isArray(details)) return details.map(({ path, message }) => `${path} ${message}`);
  return typeof path === "string" ? [`at ${path}`] : [];
}

/** Shows a line that is replaced by the next one; short work shows nothing. */
function startProgress(first: string, isShown: boolean): Progress {
  let text = first;
  let isVisible = false;
  const show = () => {
    isVisible = true;
    printPart(Deno.stderr, `${CLEAR_LINE}${text} ...`);
  };
  const timer = isShown ? setTimeout(show, PROGRESS_AFTER_MS) : undefined;
  return {
    say(next) {
      text = next;
      if (isVisible) show();
    },
    end() {
      clearTimeout(timer);
      if (isVisible) printPart(Deno.stderr, CLEAR_LINE);
      isVisible = false;
    },
  };
}
