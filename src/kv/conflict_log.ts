/**
 * Which keys recent commits wrote, so that a transaction can be refused when something it read
 * has changed since. A commit group in the making is apart until it is durable: were it recorded
 * before and then failed, its keys would conflict with readers that no later version ever helps.
 */

import { lowerBound, type TextRange } from "./byte_text.ts";

/** What a transaction read and must find unchanged. */
export interface Guards {
  readonly keys: Set<string>;
  readonly ranges: TextRange[];
}

/** What the commits of one version wrote. */
export interface WrittenGroup {
  readonly keys: Set<string>;
  readonly ranges: TextRange[];
  /** The keys in order, made when the first range is checked. */
  order: string[] | undefined;
}

export interface ConflictLog {
  /** Oldest first. */
  groups: { readonly version: number; readonly written: WrittenGroup }[];
  keyCount: number;
  /** Reads at versions below cannot be checked any more. */
  floor: number;
}

/** Beyond so many remembered keys the oldest versions are dropped, whoever still needs them. */
const rememberedKeysMax = 1_000_000;

export function emptyConflictLog(): ConflictLog {
  return { groups: [], keyCount: 0, floor: 0 };
}

export function openWrittenGroup(): WrittenGroup {
  return { keys: new Set(), ranges: [], order: undefined };
}

/** Whether anything guarded was written by a version after `readVersion` or by `pending`. */
export function conflicts(
  log: ConflictLog,
  pending: WrittenGroup,
  guards: Guards,
  readVersion: number,
): boolean {
  if (guards.keys.size === 0 && guards.ranges.length === 0) return false;
  if (readVersion < log.floor) return true;
  if (touches(pending, guards)) return true;
  for (let i = log.groups.length - 1; i >= 0; i--) {
    const { version, written } = log.groups[i]!;
    if (version <= readVersion) return false;
    if (guards.ranges.length > 0) written.order ??= [...written.keys].sort();
    if (touches(written, guards)) return true;
  }
  return false;
}

/** Remembers a durable group for as long as somebody reads at a version before it. */
export function recordGroup(
  log: ConflictLog,
  version: number,
  written: WrittenGroup,
  oldestReadVersion: number,
): void {
  log.groups.push({ version, written });
  log.keyCount += written.keys.size + written.ranges.length;
  let drop = 0;
  while (drop < log.groups.length) {
    const oldest = log.groups[drop]!;
    const needed = oldest.version > oldestReadVersion;
    if (needed && log.keyCount <= rememberedKeysMax) break;
    log.floor = oldest.version;
    log.keyCount -= oldest.written.keys.size + oldest.written.ranges.length;
    drop++;
  }
  if (drop > 0) log.groups.splice(0, drop);
}

function touches(written: WrittenGroup, guards: Guards): boolean {
  for (const key of guards.keys) {
    if (written.keys.has(key)) return true;
    for (const { begin, end } of written.ranges) if (begin <= key && key < end) return true;
  }
  for (const range of guards.ranges) {
    if (touchesRange(written, range)) return true;
    for (const { begin, end } of written.ranges) {
      if (begin < range.end && range.begin < end) return true;
    }
  }
  return false;
}

function touchesRange(written: WrittenGroup, { begin, end }: TextRange): boolean {
  const order = written.order;
  if (order !== undefined) {
    const first = order[lowerBound(order, begin)];
    return first !== undefined && first < end;
  }
  for (const key of written.keys) if (begin <= key && key < end) return true;
  return false;
}
