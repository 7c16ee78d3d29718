/** WebAssembly modules from readable source: text in, bytes out. The tool is WABT. */

import wabtFactory from "wabt";

/** What every module needs beside its entrypoint: a memory, and a `malloc` that bumps. */
const FRAME = `
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 4096))
  (func (export "malloc") (param $size i32) (result i32)
    (local $pointer i32)
    (local.set $pointer (global.get $top))
    (global.set $top (i32.add (global.get $top) (local.get $size)))
    (local.get $pointer))`;

let wabt: Awaited<ReturnType<typeof wabtFactory>> | undefined;

/** The binary of a module in the text format. Throws with the place where the text is wrong. */
export async function assemble(source: string): Promise<Uint8Array<ArrayBuffer>> {
  wabt ??= await wabtFactory();
  const features = { exceptions: true, threads: true, tail_call: true, memory64: true, gc: true };
  const options = { multi_memory: true, relaxed_simd: true, ...features };
  const parsed = wabt.parseWat("module.wat", source, options);
  try {
    return new Uint8Array(parsed.toBinary({}).buffer);
  } finally {
    parsed.destroy();
  }
}

/** A file of `modules/`, by its name without the ending. */
export async function moduleFile(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return await assemble(await Deno.readTextFile(new URL(`modules/${name}.wat`, import.meta.url)));
}

/** A module with a memory of two pages and a `malloc`, and what else is given. */
export function framed(rest: string): Promise<Uint8Array<ArrayBuffer>> {
  return assemble(`(module ${FRAME} ${rest})`);
}

/** An entrypoint `apply_handler` that returns this text, from address 16 on. */
export function returning(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return `${dataAt(16, bytes)} ${handler(`(i64.const ${packed(16, bytes.length)})`)}`;
}

export function dataAt(address: number, bytes: Uint8Array): string {
  const escaped = [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("");
  return `(data (i32.const ${address}) "${escaped}")`;
}

/** `apply_handler` with this body, which leaves an i64. */
export function handler(body: string): string {
  return `(func $handler (export "apply_handler") (param $pointer i32) (param $length i32)
    (result i64) ${body})`;
}

/** `(output_ptr << 32) | output_len`, both taken as numbers without a sign. */
export function packed(pointer: number, length: number): bigint {
  return (BigInt(pointer) << 32n) | BigInt(length);
}
