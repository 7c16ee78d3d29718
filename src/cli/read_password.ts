/** Reads a password: typed unseen at the terminal, or from a pipe. */

import { print } from "./print.ts";
import { EXIT_MISUSED, exitWith } from "./settings.ts";

const ENTER = [10, 13];
const BACKSPACE = [8, 127];
const INTERRUPT = 3;

/** Returns the first line of standard input, without its line ending. */
export async function readPasswordFromPipe(): Promise<string> {
  const text = await new Response(Deno.stdin.readable).text();
  return text.split(/\r?\n/, 1)[0]!;
}

/** Prompts at the terminal; nothing typed is shown. */
export function readPassword(): string {
  if (!Deno.stdin.isTerminal()) {
    const message = "There is no terminal to ask on. Use --password-stdin and pipe the password in";
    exitWith(EXIT_MISUSED, message);
  }
  Deno.stdout.writeSync(new TextEncoder().encode("Password (at least 12 characters): "));
  Deno.stdin.setRaw(true);
  try {
    return readUnseen();
  } finally {
    Deno.stdin.setRaw(false);
    print("");
  }
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
