/**
 * What a disk may hold after a power cut. Everything that was synced is there. Of what was
 * written since, each sector of 512 bytes independently may be there or not; so may a
 * truncation and a name. Bytes that a failed sync should have confirmed may be lost forever,
 * whatever later syncs report.
 */

import type { Random } from "../crash/random.ts";
import type { DiskTrace, FileChange, Span, Sync, TracedFile } from "./disk_trace.ts";

const SECTOR_BYTES = 512;

/** How much of what was not synced is there: all, none, or each part by chance. */
export type Fate = "kept" | "lost" | "mixed";

/** The files of the folder after a cut at a line of the trace. */
export function stateAfterCut(
  trace: DiskTrace,
  line: number,
  fate: Fate,
  random: Random,
): Map<string, Uint8Array> {
  const isKept = () => fate === "kept" || (fate === "mixed" && random.chance(0.5));
  const names = new Map(trace.before);
  for (const change of trace.names) {
    if (change.begin >= line) continue;
    if (!isNamed(change, trace.folderSyncs, line) && !isKept()) continue;
    if (change.file === undefined) names.delete(change.name);
    else names.set(change.name, change.file);
  }
  return new Map([...names].map(([name, file]) => [name, contentOf(file, line, isKept)]));
}

/** Names are in the journal of the file system, which retries one that was not synced. */
function isNamed(change: Span, syncs: readonly Sync[], line: number): boolean {
  return syncs.some((sync) => sync.isDone && sync.begin >= change.end && sync.end < line);
}

/** Whether the first sync that began after the change and ended before the cut succeeded. */
function isSafe(change: Span, syncs: readonly Sync[], line: number): boolean {
  let first: Sync | undefined;
  for (const sync of syncs) {
    if (sync.begin < change.end || sync.end >= line) continue;
    if (first === undefined || sync.end < first.end) first = sync;
  }
  // After a failed sync the system has forgotten what it could not write.
  return first?.isDone ?? false;
}

function contentOf(file: TracedFile, line: number, isKept: () => boolean): Uint8Array {
  const content = { bytes: file.before.slice(), size: file.before.length };
  for (const change of file.changes) {
    if (change.begin >= line) continue;
    const isWhole = isSafe(change, file.syncs, line);
    if (change.kind === "truncate") {
      if (isWhole || isKept()) resize(content, change.size);
    } else if (isWhole) {
      put(content, change.at, change.bytes);
    } else {
      putSectors(content, change, isKept);
    }
  }
  return content.bytes.slice(0, content.size);
}

interface Content {
  bytes: Uint8Array;
  size: number;
}

function resize(content: Content, size: number): void {
  if (size < content.size) content.bytes.fill(0, size, content.size);
  else reserve(content, size);
  content.size = size;
}

function reserve(content: Content, size: number): void {
  if (size <= content.bytes.length) return;
  const bytes = new Uint8Array(Math.max(size, 2 * content.bytes.length));
  bytes.set(content.bytes.subarray(0, content.size));
  content.bytes = bytes;
}

function put(content: Content, at: number, bytes: Uint8Array): void {
  const end = at + bytes.length;
  reserve(content, end);
  content.bytes.set(bytes, at);
  content.size = Math.max(content.size, end);
}

function putSectors(
  content: Content,
  { at, bytes }: FileChange & { kind: "write" },
  isKept: () => boolean,
): void {
  for (let from = 0; from < bytes.length;) {
    const toEdge = SECTOR_BYTES - (at + from) % SECTOR_BYTES;
    const to = Math.min(bytes.length, from + toEdge);
    if (isKept()) put(content, at + from, bytes.subarray(from, to));
    from = to;
  }
}
