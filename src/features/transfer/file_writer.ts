/** Writes an environment file: joins lines into blocks, counts them and hashes them on the way. */

import { createHash } from "node:crypto";
import {
  endLine,
  type FileCounts,
  type FileRecord,
  FORMAT_VERSION,
  NO_COUNTS,
  PART_CHARACTERS,
} from "../../domain/transfer/record.ts";

/** Where the bytes go; resolves when it has taken them. */
export type FileOutput = (bytes: Uint8Array) => Promise<void>;

export interface FileWriter {
  readonly counts: FileCounts;
  writeRecord(record: FileRecord): Promise<void>;
  /** Writes a record whose text follows it in parts. */
  writeInParts(record: RecordInParts, text: string): Promise<void>;
  /** Writes events of the stream that was opened last. */
  writeEvents(events: readonly { readonly raw: string; readonly bytes: number }[]): Promise<void>;
  /** Writes the last line. Returns what the file holds. */
  end(): Promise<FileCounts>;
}

type InParts<R> = R extends { readonly parts: number } ? Omit<R, "parts"> : never;
export type RecordInParts = InParts<FileRecord>;

const BLOCK_CHARACTERS = 256 * 1024;

export function createFileWriter(output: FileOutput): FileWriter {
  const encoder = new TextEncoder();
  const sha256 = createHash("sha256");
  const counts = { ...NO_COUNTS };
  let block: string[] = [];
  let characters = 0;

  async function add(lines: string, count: number): Promise<void> {
    counts.lines += count;
    block.push(lines);
    characters += lines.length;
    if (characters >= BLOCK_CHARACTERS) await flush();
  }

  async function flush(): Promise<void> {
    const bytes = encoder.encode(block.join(""));
    block = [];
    characters = 0;
    sha256.update(bytes);
    await output(bytes);
  }

  async function writeRecord(record: FileRecord): Promise<void> {
    count(record);
    await add(JSON.stringify(record) + "\n", 1);
  }

  async function writeInParts(record: RecordInParts, text: string): Promise<void> {
    const parts = Math.ceil(text.length / PART_CHARACTERS);
    await writeRecord({ ...record, parts });
    for (let part = 0; part < parts; part++) {
      const begin = part * PART_CHARACTERS;
      const piece = text.slice(begin, begin + PART_CHARACTERS);
      await writeRecord({ record: `${record.record}_part`, text: piece });
    }
  }

  function count(record: FileRecord): void {
    if (record.record === "stream" && record.from === 0) counts.streams++;
    if (record.record === "spec") counts.specs++;
    if (record.record === "signing_key") counts.signing_keys++;
    if (record.record === "api_key") counts.api_keys++;
    if (record.record === "ledger") counts.ledger_entries++;
    if (record.record === "work") counts.work++;
    if (record.record === "blob") counts.blobs++;
  }

  return {
    counts,
    writeRecord,
    writeInParts,
    async writeEvents(events) {
      let lines = "";
      for (const { raw, bytes } of events) {
        lines += raw + "\n";
        counts.event_bytes += bytes;
      }
      counts.events += events.length;
      await add(lines, events.length);
    },
    async end() {
      await flush();
      await output(encoder.encode(endLine(counts, sha256.digest("hex"), FORMAT_VERSION) + "\n"));
      return { ...counts };
    },
  };
}
