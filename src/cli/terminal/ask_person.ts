/** Asks a person at the terminal: a line, a password that is not shown, a yes or no. */

import { printPart } from "./print.ts";
import { EXIT_MISUSED, exitWith } from "./settings.ts";

const ENTER = [10, 13];
const BACKSPACE = [8, 127];
const INTERRUPT = 3;
const NEWLINE = "\n";

/** Ends the process if there is nobody to ask; `instead` says what to do without a terminal. */
export function requireTerminal(instead: string): void {
  if (!Deno.stdin.isTerminal()) {
    exitWith(EXIT_MISUSED, `There is no terminal to ask on. ${instead}`);
  }
}

/** What is typed at the terminal, without the line end; nothing typed is shown. */
export function askSecret(question: string): string {
  printPart(Deno.stderr, question);
  Deno.stdin.setRaw(true);
  try {
    return readUnseen();
  } finally {
    Deno.stdin.setRaw(false);
    printPart(Deno.stderr, NEWLINE);
  }
}

/** One line as it is typed, without the space around it. */
export function askLine(question: string): string {
  printPart(Deno.stderr, question);
  const typed: number[] = [];
  const byte = new Uint8Array(1);
  while (Deno.stdin.readSync(byte) !== null && !ENTER.includes(byte[0]!)) typed.push(byte[0]!);
  return new TextDecoder().decode(Uint8Array.from(typed)).trim();
}

/** The first line of standard input, without its line end. */
export async function readFirstLine(): Promise<string> {
  const text = await new Response(Deno.stdin.readable).text();
  return text.split(/\r?\n/, 1)[0]!;
}

function readUnseen(): string {
  const typed: number[] = [];
  const byte = new Uint8Array(1);
  while (Deno.stdin.readSync(byte) !== null && !ENTER.includes(byte[0]!)) {
    const key = byte[0]!;
    if (key === INTERRUPT) exitWith(EXIT_MISUSED, "\nInterrupted");
    if (BACKSPACE.includes(key)) removeLastCharacter(typed);
    else typed.push(key);
  }
  return new TextDecoder().decode(Uint8Array.from(typed));
}

/** In UTF-8 a character is one leading byte and the continuation bytes after it. */
function removeLastCharacter(typed: number[]): void {
  let last = typed.pop();
  while (last !== undefined && (last & 0xc0) === 0x80) last = typed.pop();
}
