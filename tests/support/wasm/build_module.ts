/** Assembles WebAssembly modules from text with WABT. */

import wabtFactory from "wabt";

/** What every module needs besides its entrypoint: a memory, and a `malloc` that only bumps. */
const FRAME = `
  (memory (export "memory") 2)
  (global $top (mut i32) (i32.const 4096))
  (func (export "malloc") (param $size i32) (result i32)
    (local $pointer i32)
    (local.set $pointer (global.get $top))
    (global.set $top (i32.add (global.get $top) (local.get $size)))
    (local.get $pointer))`;

let wabt: Awaited<ReturnType<typeof wabtFactory>> | undefined;

/** Assembles a module in the text format. Throws with the position of a mistake in the text. */
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

/** Assembles a file of `modules/`, named without its extension. */
export async function moduleFile(name: string): Promise<Uint8Array<ArrayBuffer>> {
  return await assemble(await Deno.readTextFile(new URL(`modules/${name}.wat`, import.meta.url)));
}

/** A module with a memory of two pages and a `malloc`, plus `rest`. */
export function framed(rest: string): Promise<Uint8Array<ArrayBuffer>> {
  return assemble(`(module ${FRAME} ${rest})`);
}

/** An entrypoint `apply_handler` that returns this text, stored at address 16. */
export function returning(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return `${dataAt(16, bytes)} ${handler(`(i64.const ${packed(16, bytes.length)})`)}`;
}

export function dataAt(address: number, bytes: Uint8Array): string {
  const escaped = [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, "0")}`).join("");
  return `(data (i32.const ${address}) "${escaped}")`;
}

/** An `apply_handler` with this body, which leaves an i64. */
export function handler(body: string): string {
  return `(func $handler (export "apply_handler") (param $pointer i32) (param $length i32)
    (result i64) ${body})`;
}

/** `(output_ptr << 32) | output_len`, both unsigned. */
export function packed(pointer: number, length: number): bigint {
  return (BigInt(pointer) << 32n) | BigInt(length);
}
