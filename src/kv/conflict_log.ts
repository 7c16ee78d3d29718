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

/**
 * Finds something guarded that a version after `readVersion` or `pending` wrote.
 * @returns the key, or the begin of the range, where it conflicts; undefined when nowhere.
 */
export function findConflict(
  log: ConflictLog,
  pending: WrittenGroup,
  guards: Guards,
  readVersion: number,
): string | undefined {
  if (guards.keys.size === 0 && guards.ranges.length === 0) return undefined;
  if (readVersion < log.floor) return "";
  const found = findTouched(pending, guards);
  if (found !== undefined) return found;
  for (let i = log.groups.length - 1; i >= 0; i--) {
    const { version, written } = log.groups[i]!;
    if (version <= readVersion) return undefined;
    if (guards.ranges.length > 0) written.order ??= [...written.keys].sort();
    const found = findTouched(written, guards);
    if (found !== undefined) return found;
  }
  return undefined;
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

function findTouched(written: WrittenGroup, guards: Guards): string | undefined {
  for (const key of guards.keys) {
    if (written.keys.has(key)) return key;
    for (const { begin, end } of written.ranges) if (begin <= key && key < end) return key;
  }
  for (const range of guards.ranges) {
    if (touchesRange(written, range)) return range.begin;
    for (const { begin, end } of written.ranges) {
      if (begin < range.end && range.begin < end) return range.begin;
    }
  }
  return undefined;
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
