/**
 * Reads the structure of a module: its sections in order, and the contents of those that
 * matter.
 *
 * It takes one pass, and looks at each byte once.
 */

import {
  type ByteReader,
  expectEnd,
  MalformedModuleError,
  readByte,
  readName,
  readU32,
  skipBytes,
  takeReader,
} from "./byte_reader.ts";
import {
  readReferenceType,
  readValueType,
  skipConstant,
  skipInstructions,
  UnknownFeatureError,
} from "./instruction.ts";

export interface FunctionType {
  readonly parameters: readonly number[];
  readonly results: readonly number[];
}

/** Sizes of a memory are in pages, those of a table in entries. */
export interface SizeLimits {
  readonly initial: number;
  readonly maximum: number | undefined;
}

export interface TableShape extends SizeLimits {
  readonly elementType: number;
}

export type ExportKind = "function" | "table" | "memory" | "global";

export interface ModuleExport {
  readonly name: string;
  readonly kind: ExportKind;
  readonly index: number;
}

/** A section's place in the bytes. `start` is where its number and length begin. */
export interface Section {
  readonly id: number;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface ModuleShape {
  readonly sections: Section[];
  readonly types: FunctionType[];
  /** The first import, as `module.name`. */
  firstImport: string | undefined;
  /** The index of the type of each function. */
  readonly functions: number[];
  readonly tables: TableShape[];
  readonly memories: SizeLimits[];
  readonly exports: ModuleExport[];
  globals: number;
  segments: number;
  /** Functions that have code. */
  bodies: number;
  /** Bytes of the largest function, and local variables of all functions together. */
  largestFunctionBytes: number;
  locals: number;
  /** The section that is being read, which says where a malformed module went wrong. */
  place: string;
}

const HEADER_BYTES = 8;
const EXPORT_KINDS: readonly ExportKind[] = ["function", "table", "memory", "global"];

interface SectionKind {
  readonly name: string;
  /** Sections must come in this order, each at most once. */
  readonly order: number;
  read(reader: ByteReader, shape: ModuleShape): void;
}

const SECTIONS: Readonly<Record<number, SectionKind>> = {
  1: { name: "types", order: 1, read: readTypes },
  2: { name: "imports", order: 2, read: readImports },
  3: { name: "functions", order: 3, read: readFunctions },
  4: { name: "tables", order: 4, read: readTables },
  5: { name: "memory", order: 5, read: readMemories },
  6: { name: "globals", order: 6, read: readGlobals },
  7: { name: "exports", order: 7, read: readExports },
  8: { name: "start", order: 8, read: skipRest },
  9: { name: "elements", order: 9, read: readSegments },
  12: { name: "data_count", order: 10, read: skipRest },
  10: { name: "code", order: 11, read: readCode },
  11: { name: "data", order: 12, read: readSegments },
};

export function emptyShape(): ModuleShape {
  return {
    sections: [],
    types: [],
    firstImport: undefined,
    functions: [],
    tables: [],
    memories: [],
    exports: [],
    globals: 0,
    segments: 0,
    bodies: 0,
    largestFunctionBytes: 0,
    locals: 0,
    place: "header",
  };
}

/**
 * Reads everything after the header into `shape`.
 * @throws {MalformedModuleError | UnknownFeatureError}
 */
export function readModuleShape(bytes: Uint8Array, shape: ModuleShape): void {
  const reader: ByteReader = { bytes, at: HEADER_BYTES, end: bytes.length };
  let order = 0;
  while (reader.at < reader.end) {
    const start = reader.at;
    const id = readByte(reader);
    const content = takeReader(reader, readU32(reader));
    const kind = SECTIONS[id];
    if (id === 0) {
      const name = readName(content);
      shape.sections.push({ id, name, start, end: reader.at });
      continue;
    }
    if (kind === undefined) throw new UnknownFeatureError(start, `a section with number ${id}`);
    shape.place = kind.name;
    if (kind.order <= order) {
      throw new MalformedModuleError(start, "the section is not where it should be");
    }
    order = kind.order;
    kind.read(content, shape);
    expectEnd(content);
    shape.sections.push({ id, name: kind.name, start, end: reader.at });
  }
  if (shape.bodies !== shape.functions.length) {
    throw new MalformedModuleError(reader.at, "functions without code, or code without functions");
  }
}

function readTypes(reader: ByteReader, { types }: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) {
    const form = readByte(reader);
    if (form !== 0x60) throw new UnknownFeatureError(reader.at, "a type that is no function");
    types.push({ parameters: readValueTypes(reader), results: readValueTypes(reader) });
  }
}

function readValueTypes(reader: ByteReader): number[] {
  const types: number[] = [];
  for (let left = readU32(reader); left > 0; left--) types.push(readValueType(reader));
  return types;
}

/** Reads only the first import, because none is allowed. */
function readImports(reader: ByteReader, shape: ModuleShape): void {
  if (readU32(reader) === 0) return;
  shape.firstImport = `${readName(reader)}.${readName(reader)}`;
  skipRest(reader);
}

function readFunctions(reader: ByteReader, { functions }: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) functions.push(readU32(reader));
}

function readTables(reader: ByteReader, { tables }: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) {
    tables.push({ elementType: readReferenceType(reader), ...readLimits(reader) });
  }
}

function readMemories(reader: ByteReader, { memories }: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) memories.push(readLimits(reader));
}

function readLimits(reader: ByteReader): SizeLimits {
  const flags = readByte(reader);
  // 2 means shared, 4 means 64-bit addresses, 8 means custom page sizes.
  if (flags > 1) {
    throw new UnknownFeatureError(reader.at, `limits of kind 0x0${flags.toString(16)}`);
  }
  const initial = readU32(reader);
  return { initial, maximum: flags === 1 ? readU32(reader) : undefined };
}

function readGlobals(reader: ByteReader, shape: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) {
    readValueType(reader);
    readByte(reader); // Mutable or not.
    skipConstant(reader);
    shape.globals++;
  }
}

function readExports(reader: ByteReader, { exports }: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) {
    const name = readName(reader);
    const kind = EXPORT_KINDS[readByte(reader)];
    if (kind === undefined) throw new UnknownFeatureError(reader.at, `the export ${name}`);
    exports.push({ name, kind, index: readU32(reader) });
  }
}

/** Only the number of segments matters. */
function readSegments(reader: ByteReader, shape: ModuleShape): void {
  shape.segments += readU32(reader);
  skipRest(reader);
}

function readCode(reader: ByteReader, shape: ModuleShape): void {
  for (let left = readU32(reader); left > 0; left--) {
    const body = takeReader(reader, readU32(reader));
    shape.bodies++;
    shape.largestFunctionBytes = Math.max(shape.largestFunctionBytes, body.end - body.at);
    for (let groups = readU32(body); groups > 0; groups--) {
      shape.locals += readU32(body);
      readValueType(body);
    }
    skipInstructions(body);
  }
}

function skipRest(reader: ByteReader): void {
  skipBytes(reader, reader.end - reader.at);
}
