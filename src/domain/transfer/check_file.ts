/**
 * Checks an environment file line by line while it is read, in bounded memory.
 *
 * It checks the form and order of the records, the hash chain of every stream, and at the end
 * the counts and the SHA-256 of everything before the last line. Items are trustworthy only
 * once the last line was accepted, so nothing may become visible before that. See
 * docs/reference/transfer-file.md.
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { extendChain } from "../audit/chain.ts";
import { limits } from "../limits.ts";
import { isStoredEvent, parseRecord, type RuleBreach } from "./parse_record.ts";
import { neededDefinition, parseWork } from "./parse_work.ts";
import {
  type ApiKeyLine,
  type BlobRecord,
  type CurrentSpecRecord,
  END_START,
  endLine,
  EVENT_START,
  type FileCounts,
  type FileRecord,
  FORMAT_VERSION,
  type HeaderRecord,
  type LedgerRecord,
  LINE_BYTES_MAX,
  NO_COUNTS,
  type SigningKeyLine,
  SPEC_BYTES_MAX,
  type SpecRecord,
  type StreamRecord,
  type TipRecord,
  WORK_BYTES_MAX,
  type WorkRecord,
} from "./record.ts";
import type { WorkItem } from "./work.ts";

/** A broken rule and the line that breaks it, counted from 1. */
export interface FileFault extends RuleBreach {
  readonly line: number;
}

/** An event of the stream that was opened last. */
export interface EventItem {
  readonly kind: "event";
  readonly raw: string;
  /** Length of `raw` in UTF-8. */
  readonly bytes: number;
  readonly hash: string;
}

/** What a line, or the last of several lines, stands for. */
export type FileItem =
  | EventItem
  | { readonly kind: "header"; readonly header: HeaderRecord }
  | { readonly kind: "signing_key"; readonly signingKey: SigningKeyLine }
  | { readonly kind: "spec"; readonly spec: SpecRecord; readonly text: string }
  | { readonly kind: "stream"; readonly stream: StreamRecord }
  | { readonly kind: "tip"; readonly stream: StreamRecord; readonly tip: TipRecord }
  | { readonly kind: "api_key"; readonly apiKey: ApiKeyLine }
  | { readonly kind: "ledger"; readonly entry: LedgerRecord }
  | { readonly kind: "work"; readonly work: WorkItem; readonly bytes: number }
  | { readonly kind: "blob"; readonly blob: BlobRecord; readonly file: Uint8Array<ArrayBuffer> }
  | { readonly kind: "current_spec"; readonly current: CurrentSpecRecord }
  | { readonly kind: "end"; readonly counts: FileCounts };

export type Step =
  | { readonly ok: true; readonly item?: FileItem }
  | { readonly ok: false; readonly fault: FileFault };

export interface FileCheck {
  /** The number of the last line taken. */
  readonly line: number;
  readonly counts: FileCounts;
  /**
   * Takes the next line, without its newline. `item` is absent for one part of something
   * larger.
   */
  take(line: Uint8Array): Step;
  /** Call after the last line. Returns what is wrong with a file that ends here. */
  finish(rest: Uint8Array): FileFault | undefined;
}

/** A stream whose tip has not come yet. */
interface OpenStream {
  readonly record: StreamRecord;
  /** How the text of each of its events begins. */
  readonly start: string;
  length: number;
  tip: string | undefined;
}

/** A spec, a piece of work or a blob that still lacks parts. */
interface OpenText<R> {
  readonly record: R;
  readonly parts: string[];
  bytes: number;
}

type Counts = { -readonly [Name in keyof FileCounts]: FileCounts[Name] };

/** Adds a part and returns the bytes of all parts so far. */
function addPart<R>(open: OpenText<R>, text: string): number {
  open.parts.push(text);
  return open.bytes += Buffer.byteLength(text);
}

/** Base64 has four characters for three bytes. */
const BLOB_CHARACTERS_MAX = 4 * Math.ceil(limits.wasmModuleBytesMax / 3);

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}

const NEWLINE = new Uint8Array([0x0a]);

export function createFileCheck(): FileCheck {
  const sha256 = createHash("sha256");
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const counts: Counts = { ...NO_COUNTS };
  let line = 0;
  let stream: OpenStream | undefined;
  let spec: OpenText<SpecRecord> | undefined;
  let work: OpenText<WorkRecord> | undefined;
  let blob: OpenText<BlobRecord> | undefined;
  /** The newest version of each blob so far. */
  const blobVersions = new Map<string, number>();
  let currentSpec: number | undefined;
  let version = FORMAT_VERSION;
  /** Hashes of definitions that running sagas need, and of those that the file contains. */
  const needed = new Set<string>();
  const defined = new Set<string>();
  let isEnded = false;

  function take(bytes: Uint8Array): Step {
    line++;
    if (isEnded) return refuse("after_end", "nothing may follow the end record");
    if (bytes.length > LINE_BYTES_MAX) return refuseLongLine();
    let text: string;
    try {
      text = decoder.decode(bytes);
    } catch {
      return refuse("not_utf8", "the line is not UTF-8");
    }
    if (text.startsWith(END_START)) return takeEnd(text);
    const step = text.startsWith(EVENT_START) ? takeEvent(text, bytes.length) : takeRecord(text);
    sha256.update(bytes).update(NEWLINE);
    counts.lines++;
    return step;
  }

  function takeEvent(raw: string, bytes: number): Step {
    if (stream === undefined) return refuse("record_order", "an event stands outside a stream");
    if (!raw.startsWith(stream.start)) {
      return refuse("event_key", `the event is not of the stream ${stream.record.key}`);
    }
    if (!isStoredEvent(raw)) {
      return refuse("event_form", "the line is not an event as they are stored");
    }
    const hash = extendChain(stream.tip, raw);
    stream.tip = hash;
    stream.length++;
    counts.events++;
    counts.event_bytes += bytes;
    return { ok: true, item: { kind: "event", raw, bytes, hash } };
  }

  function takeRecord(text: string): Step {
    const parsed = parseRecord(text, version);
    if (!parsed.ok) return { ok: false, fault: { line, ...parsed.breach } };
    const { record } = parsed;
    const misplaced = explainOrder(record);
    if (misplaced !== undefined) return refuse("record_order", misplaced);
    return takeParsed(record);
  }

  /** Why the record cannot stand here; undefined when it can. */
  function explainOrder({ record }: FileRecord): string | undefined {
    if ((line === 1) !== (record === "header")) return "the header is the first line, and only it";
    if (stream !== undefined && record !== "tip") {
      return `the stream ${stream.record.key} has not been ended by its tip`;
    }
    if (stream === undefined && record === "tip") return "a tip stands outside a stream";
    if (spec !== undefined && record !== "spec_part") {
      return `version ${spec.record.version} of the spec lacks some of its parts`;
    }
    if (spec === undefined && record === "spec_part") return "a part stands outside a spec";
    if (work !== undefined && record !== "work_part") return "a piece of work lacks some parts";
    if (work === undefined && record === "work_part") {
      return "a part stands outside a piece of work";
    }
    if (blob !== undefined && record !== "blob_part") return "a blob lacks some of its parts";
    if (blob === undefined && record === "blob_part") return "a part stands outside a blob";
    if (currentSpec !== undefined) return "only the end may follow the current spec";
    return undefined;
  }

  function takeParsed(record: FileRecord): Step {
    switch (record.record) {
      case "header":
        version = record.version;
        return { ok: true, item: { kind: "header", header: record } };
      case "signing_key":
        counts.signing_keys++;
        return { ok: true, item: { kind: "signing_key", signingKey: record } };
      case "spec":
        return openSpec(record);
      case "spec_part":
        return takeSpecPart(record.text);
      case "stream":
        return openStream(record);
      case "tip":
        return takeTip(record);
      case "api_key":
        counts.api_keys++;
        return { ok: true, item: { kind: "api_key", apiKey: record } };
      case "ledger":
        counts.ledger_entries++;
        return { ok: true, item: { kind: "ledger", entry: record } };
      case "work":
        counts.work++;
        work = { record, parts: [], bytes: 0 };
        return { ok: true };
      case "work_part":
        return takeWorkPart(record.text);
      case "blob":
        return openBlob(record);
      case "blob_part":
        return takeBlobPart(record.text);
      case "current_spec":
        if (record.version > counts.specs) {
          return refuse("current_spec", `the file has no version ${record.version} of the spec`);
        }
        currentSpec = record.version;
        return { ok: true, item: { kind: "current_spec", current: record } };
    }
  }

  function openSpec(record: SpecRecord): Step {
    const expected = counts.specs + 1;
    if (record.version !== expected) {
      return refuse("spec_version", `version ${expected} of the spec is to come next`);
    }
    counts.specs++;
    spec = { record, parts: [], bytes: 0 };
    return { ok: true };
  }

  function takeSpecPart(text: string): Step {
    const { record, parts } = spec!;
    if (addPart(spec!, text) > SPEC_BYTES_MAX) {
      return refuse("spec_too_large", `a spec has at most ${SPEC_BYTES_MAX} bytes`);
    }
    if (parts.length < record.parts) return { ok: true };
    spec = undefined;
    return { ok: true, item: { kind: "spec", spec: record, text: parts.join("") } };
  }

  function openBlob(record: BlobRecord): Step {
    const expected = (blobVersions.get(record.name) ?? 0) + 1;
    if (record.version !== expected) {
      return refuse("blob_version", `version ${expected} of ${record.name} is to come next`);
    }
    blobVersions.set(record.name, expected);
    counts.blobs++;
    blob = { record, parts: [], bytes: 0 };
    return { ok: true };
  }

  function takeBlobPart(text: string): Step {
    const { record, parts } = blob!;
    if (addPart(blob!, text) > BLOB_CHARACTERS_MAX) {
      return refuse("blob_form", `a blob has at most ${limits.wasmModuleBytesMax} bytes`);
    }
    if (parts.length < record.parts) return { ok: true };
    blob = undefined;
    const file = decodeBase64(parts.join(""));
    const isWhole = file?.length === record.bytes &&
      createHash("sha256").update(file).digest("hex") === record.sha256;
    if (isWhole) return { ok: true, item: { kind: "blob", blob: record, file } };
    return refuse("blob_form", `the parts are not the file of ${record.name}:v${record.version}`);
  }

  function takeWorkPart(text: string): Step {
    const { record, parts } = work!;
    const bytes = addPart(work!, text);
    if (bytes > WORK_BYTES_MAX) {
      return refuse("work_too_large", `a piece of work has at most ${WORK_BYTES_MAX} bytes`);
    }
    if (parts.length < record.parts) return { ok: true };
    work = undefined;
    const parsed = parseWork(record.kind, parts.join(""));
    if (!parsed.ok) return refuse("work_form", parsed.message);
    const { item } = parsed;
    const definition = item.kind === "saga" ? neededDefinition(item.moved.instance) : undefined;
    if (definition !== undefined) needed.add(definition);
    if (item.kind === "saga_definition") defined.add(item.moved.hash);
    return { ok: true, item: { kind: "work", work: item, bytes } };
  }

  function openStream(record: StreamRecord): Step {
    if ((record.from > 0) !== (record.tip !== undefined)) {
      return refuse("record_fields", 'record "stream": "tip" stands exactly where "from" is not 0');
    }
    if (record.from === 0) counts.streams++;
    const start = `${EVENT_START}${JSON.stringify(record.key)},`;
    stream = { record, start, length: record.from, tip: record.tip };
    return { ok: true, item: { kind: "stream", stream: record } };
  }

  function takeTip(tip: TipRecord): Step {
    const { record, length, tip: reached } = stream!;
    if (length === record.from || tip.length !== length) {
      const message = `${record.key} has ${length} events here, but its tip says ${tip.length}`;
      return refuse("stream_length", message);
    }
    if (tip.tip !== reached) {
      return refuse("chain_tip", `the events of ${record.key} do not hash to the tip`);
    }
    stream = undefined;
    return { ok: true, item: { kind: "tip", stream: record, tip } };
  }

  function takeEnd(text: string): Step {
    if (line === 1) return refuse("record_order", "the first line is the header");
    if ([stream, spec, work, blob].some((open) => open !== undefined)) {
      const message = "the file ends within a stream, a spec, a piece of work or a blob";
      return refuse("record_order", message);
    }
    if (!needed.isSubsetOf(defined)) {
      return refuse("saga_definition", "a saga that runs lacks its definition");
    }
    if ((counts.specs > 0) !== (currentSpec !== undefined)) {
      return refuse("current_spec", "a file with specs says which one is current");
    }
    // Compares the exact text, so that no byte of this line can differ either.
    if (text !== endLine(counts, sha256.digest("hex"), version)) {
      const message = "counts or SHA-256 are not those of the lines before: the file was altered " +
        "or cut";
      return refuse("checksum", message);
    }
    isEnded = true;
    return { ok: true, item: { kind: "end", counts: { ...counts } } };
  }

  function refuseLongLine(): Step {
    return refuse("line_too_long", `the line is longer than ${LINE_BYTES_MAX} bytes`);
  }

  function refuse(rule: string, message: string): Step {
    return { ok: false, fault: { line, rule, message } };
  }

  function finish(rest: Uint8Array): FileFault | undefined {
    const isWhole = isEnded && rest.length === 0;
    if (isWhole) return undefined;
    const message = isEnded
      ? "nothing may follow the end record"
      : rest.length > 0
      ? "the line has no end: the file was cut off"
      : "the end record is missing: the file was cut off";
    return { line: line + 1, rule: isEnded ? "after_end" : "cut_off", message };
  }

  return {
    get line() {
      return line;
    },
    get counts() {
      return counts;
    },
    take,
    finish,
  };
}
