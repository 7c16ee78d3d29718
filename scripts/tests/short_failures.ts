/**
 * Shortens what a failed test says: `deno test` prints the message of an assertion whole, and that
 * of a comparison of two large values has a hundred thousand characters. Here a message of more
 * than 500 is cut, and a note tells the command that shows all of it. All else passes as it is.
 */

/** Takes the output of one run of `deno test` as it comes. */
export interface ShortOutput {
  write(bytes: Uint8Array): Promise<void>;
  /** Sends what was held back; to be called when the run has ended. */
  end(): Promise<void>;
}

/** Longest message; one that was cut is no longer either, with its note. */
export const MESSAGE_CHARACTERS_MAX = 500;
/** What is left of a longer one: the rest is for the note, with a count and a path in it. */
const CUT_CHARACTERS = 340;

// deno-lint-ignore no-control-regex -- colours
const COLOURS = /\x1b\[[0-9;]*m/g;
/** The run tells of all failures between these two headings. */
const BEGIN = " ERRORS ";
const END = " FAILURES ";
/** Above each failure: the test's name and place, or the file where no test has caught it. */
const HEADING = /^.* => (\S+):\d+:\d+$|^(\S+) \(uncaught error\)$/;
/** A line of the stack; between those are messages, the first one above them all. */
const FRAME = /^\s+at \S.*(?:\d+:\d+|<anonymous>)\)?$/;

/** Lines of a message that has not ended yet. */
interface Message {
  /** As they came, as long as they are few enough to be sent so. */
  readonly lines: string[];
  /** Their characters, those that are not kept too; without colours. */
  length: number;
}

export function shortenFailures(send: (bytes: Uint8Array) => Promise<void>): ShortOutput {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  /** The line that has not ended yet. */
  let line = "";
  let isInside = false;
  /** Of the failure that is being told; undefined before the first. */
  let path: string | undefined;
  let message = newMessage();

  /** What is to be sent at the end of a line within the list of failures. */
  function take(whole: string): string {
    const plain = whole.replaceAll(COLOURS, "");
    const heading = HEADING.exec(plain);
    if (heading === null && plain !== END && !FRAME.test(plain)) {
      if (path === undefined) return `${whole}\n`;
      if (message.length <= MESSAGE_CHARACTERS_MAX) message.lines.push(whole);
      message.length += plain.length + 1;
      return "";
    }
    const before = takeMessage();
    isInside = plain !== END;
    if (heading !== null) path = heading[1] ?? heading[2];
    else if (!isInside) path = undefined;
    return `${before}${whole}\n`;
  }

  function takeMessage(): string {
    const shown = path === undefined ? "" : shorten(message, path);
    message = newMessage();
    return shown;
  }

  async function write(bytes: Uint8Array): Promise<void> {
    let shown = "";
    const parts = decoder.decode(bytes, { stream: true }).split("\n");
    for (const [index, part] of parts.entries()) {
      const isEnded = index < parts.length - 1;
      line += part;
      // Elsewhere nothing waits for the end of its line: a test is seen while it runs.
      if (!isInside) shown += isEnded ? `${part}\n` : part;
      else if (isEnded) shown += take(line);
      if (!isEnded) continue;
      if (line.replaceAll(COLOURS, "") === BEGIN) isInside = true;
      line = "";
    }
    if (shown !== "") await send(encoder.encode(shown));
  }

  async function end(): Promise<void> {
    const last = isInside && line !== "" ? take(line) : "";
    const rest = last + takeMessage();
    line = "";
    if (rest !== "") await send(encoder.encode(rest));
  }

  return { write, end };
}

function newMessage(): Message {
  return { lines: [], length: 0 };
}

/** A message with the end of its last line, cut where it is too long. */
function shorten({ lines, length }: Message, path: string): string {
  if (length <= MESSAGE_CHARACTERS_MAX) return lines.map((line) => `${line}\n`).join("");
  const kept = lines.join("\n").replaceAll(COLOURS, "").slice(0, CUT_CHARACTERS);
  const note = `[${length - kept.length} characters more: deno test -A ${path}]`;
  return `${kept}\n${note}\n\n`;
}
