/** The event that somebody asks to have proven, as typed or as it stands in an address. */

import { parseIdentifier } from "../../../src/domain/identifier.ts";

export interface EventChoice {
  readonly type: string;
  readonly id: string;
  /** From 0. */
  readonly index: number;
}

export type ReadChoice =
  | { readonly ok: true; readonly choice: EventChoice }
  | { readonly ok: false; readonly field: "stream" | "index"; readonly message: string };

const NO_SINGLETONS: ReadonlySet<string> = new Set();
const TYPE = /^[A-Za-z0-9_.-]+$/;
const EXAMPLE = "such as order:7KD2M9QXA";

/** Reads `<type>:<id>` and the number of an event; else it says what is expected. */
export function readChoice(stream: string, index: string): ReadChoice {
  const key = stream.trim();
  const at = key.indexOf(":");
  if (at === -1) {
    return refuse("stream", `Write the type of the stream, a colon and its id, ${EXAMPLE}`);
  }
  const [type, id] = [key.slice(0, at).trim(), key.slice(at + 1).trim()];
  if (type === "") return refuse("stream", `The type before the colon is missing: ${EXAMPLE}`);
  if (!TYPE.test(type)) return refuse("stream", `No type of stream is called ${type}`);
  if (id === "") return refuse("stream", `The id after the colon is missing: ${EXAMPLE}`);
  const number = Number(index);
  if (index.trim() === "" || !Number.isSafeInteger(number) || number < 0) {
    return refuse("index", "Write a whole number; the first event of a stream is 0");
  }
  return { ok: true, choice: { type, id, index: number } };
}

function refuse(field: "stream" | "index", message: string): ReadChoice {
  return { ok: false, field, message };
}

/**
 * The streams that the typed id may mean: its canonical form, or a singleton of exactly this name.
 * Singletons are declared in the spec, which not everybody may read, so the server decides which.
 */
export function streamsMeant({ type, id }: EventChoice): readonly string[] {
  const canonical = parseIdentifier(id, NO_SINGLETONS)?.value ?? id;
  return [...new Set([canonical, id])].map((one) => `${type}:${one}`);
}

/** The one of them that the evidence is about; if it is about another, the canonical one. */
export function streamMeant(choice: EventChoice, found: unknown): string {
  const meant = streamsMeant(choice);
  return meant.find((stream) => stream === found) ?? meant[0]!;
}
