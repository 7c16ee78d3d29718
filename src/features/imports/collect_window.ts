/** Reads and checks the lines of one window, up to the first line that is refused. */

import { openPieces } from "../../domain/fairness/pieces.ts";
import { checkImportedEvent, type ImportedEvent } from "../../domain/import/check_event.ts";
import type { FilePlace } from "../../domain/import/progress.ts";
import type { JsonObject } from "../../domain/json.ts";
import { ACCEPTED, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import { type ImportWindow, openWindow } from "./import_window.ts";
import type { LineReader } from "./read_lines.ts";

/**
 * Parses the JSON text of one line to an object; the edge decides what JSON is allowed. A long
 * line takes more than one turn of the event loop.
 */
export type ParseLine = (text: string) => Outcome<JsonObject> | Promise<Outcome<JsonObject>>;

/** Why an import cannot go on. */
export interface ImportFault {
  readonly refusal: Refusal;
  /** Counted from 1, empty lines included; absent if the fault concerns no line. */
  readonly line?: number;
}

/** Where a window ends: when it is full, or at the place where it ended in an earlier run. */
export type WindowBounds =
  | { readonly storedBytes: number }
  | { readonly end: FilePlace };

export interface Collected {
  /** The lines before the fault. */
  readonly window: ImportWindow;
  readonly fault?: ImportFault;
}

const SPACE = 0x20;

export interface WindowSource {
  readonly reader: LineReader;
  readonly parse: ParseLine;
  readonly spec: CompiledSpec;
  readonly bounds: WindowBounds;
}

export async function collectWindow(
  host: Host,
  { reader, parse, spec, bounds }: WindowSource,
): Promise<Collected> {
  const window = openWindow();
  const pieces = openPieces(host);

  function close(fault?: ImportFault, isLast = false): Collected {
    const end = { bytes: reader.bytes, digest: reader.digest() };
    return { window: window.close(end, reader.lines, isLast), fault };
  }

  function isFull(): boolean {
    if ("end" in bounds) return reader.bytes >= bounds.end.bytes;
    return window.bytes >= bounds.storedBytes;
  }

  while (!isFull()) {
    const lines = await reader.next();
    if (!lines.ok) return close(faultBehind(reader, lines.refusal));
    const { count, text, countUpTo, take } = lines.value;
    if (count === 0) return close(undefined, true);
    const wanted = "end" in bounds ? countUpTo(bounds.end.bytes) : count;
    // The window ended between two lines, so a line that reaches beyond its end was not in it.
    if (wanted === 0) break;
    for (let index = 0; index < wanted; index++) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      const line = reader.lines + index + 1;
      const event = await checkLine(text(index), parse, spec);
      if (event === undefined) continue;
      if (!event.ok) {
        take(index);
        return close({ refusal: event.refusal, line });
      }
      window.add(event.value, line);
    }
    take(wanted);
  }
  return close();
}

/** A line that is too long is a fault of that line; a body that breaks off is not. */
function faultBehind({ lines }: LineReader, refusal: Refusal): ImportFault {
  return refusal.kind === "payload_too_large" ? { refusal, line: lines + 1 } : { refusal };
}

/** Returns undefined for a blank line. */
export async function checkLine(
  text: string | undefined,
  parse: ParseLine,
  spec: CompiledSpec,
): Promise<Outcome<ImportedEvent> | undefined> {
  if (text === undefined) {
    return refuse({ kind: "bad_request", message: "The line is not valid UTF-8" });
  }
  if (text.charCodeAt(0) <= SPACE && text.trim() === "") return undefined;
  const sent = await parse(text);
  return sent.ok ? checkImportedEvent(sent.value, spec) : sent;
}

/** Whether this is the window of which a part is already stored. */
export function isSameWindow({ end }: ImportWindow, known: FilePlace): Outcome<void> {
  if (end.bytes === known.bytes && end.digest === known.digest) return ACCEPTED;
  return refuseOtherFile();
}

export function refuseOtherFile() {
  const message =
    "The file is not the one that this import_id began with: the events stored from " +
    "it differ from those at the beginning of this file";
  return refuse({ kind: "import_conflict", reason: "other_file", message });
}
