/**
 * Reads the binary format of WebAssembly: bytes, LEB128 numbers and names.
 *
 * The format is chapter 5 of the core specification. A reader never goes past the end of its
 * range, and refuses numbers longer than their type allows.
 */

/** The bytes are not a module. Thrown and caught within this folder. */
export class MalformedModuleError extends Error {
  constructor(readonly offset: number, reason: string) {
    super(reason);
    this.name = "MalformedModuleError";
  }
}

/** A position in `bytes`. Nothing at or after `end` is read. */
export interface ByteReader {
  readonly bytes: Uint8Array;
  at: number;
  readonly end: number;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function readByte(reader: ByteReader): number {
  if (reader.at >= reader.end) throw new MalformedModuleError(reader.at, "it ends too early");
  return reader.bytes[reader.at++]!;
}

/** Reads an unsigned LEB128 number of 32 bits. */
export function readU32(reader: ByteReader): number {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = readByte(reader);
    if (shift === 28 && byte > 0x0f) break;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return value;
  }
  throw new MalformedModuleError(reader.at, "a number is longer than 32 bits");
}

/** Skips a signed LEB128 number of at most `bits` bits. */
export function skipSigned(reader: ByteReader, bits: number): void {
  for (let left = Math.ceil(bits / 7); left > 0; left--) {
    if (readByte(reader) < 0x80) return;
  }
  throw new MalformedModuleError(reader.at, `a number is longer than ${bits} bits`);
}

export function skipBytes(reader: ByteReader, count: number): void {
  if (count > reader.end - reader.at) {
    throw new MalformedModuleError(reader.at, "it ends too early");
  }
  reader.at += count;
}

/** A reader of the next `count` bytes. The given reader continues after them. */
export function takeReader(reader: ByteReader, count: number): ByteReader {
  const at = reader.at;
  skipBytes(reader, count);
  return { bytes: reader.bytes, at, end: reader.at };
}

/** Reads a length and that many bytes of UTF-8. */
export function readName(reader: ByteReader): string {
  const inner = takeReader(reader, readU32(reader));
  try {
    return utf8.decode(inner.bytes.subarray(inner.at, inner.end));
  } catch {
    throw new MalformedModuleError(inner.at, "a name is not UTF-8");
  }
}

/** Refuses left-over bytes. */
export function expectEnd(reader: ByteReader): void {
  if (reader.at !== reader.end) {
    throw new MalformedModuleError(reader.at, "there are more bytes than it says");
  }
}

/** Unsigned LEB128 in the fewest bytes. */
export function encodeU32(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}

/** Encodes a section of a module: its id, length and content. */
export function encodeSection(id: number, content: readonly number[]): Uint8Array {
  return Uint8Array.of(id, ...encodeU32(content.length), ...content);
}
