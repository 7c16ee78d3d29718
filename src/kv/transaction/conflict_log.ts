/**
 * Remembers which keys recent commits wrote, to find transactions that read outdated values. A
 * transaction is refused when something it read has changed since.
 *
 * The commit group in the making is kept apart until it is durable. If it were recorded earlier
 * and then failed, readers would go on conflicting with its keys, however often they ran again.
 */

import { lowerBound, textOf, type TextRange } from "../byte_text.ts";
import type { Bytes } from "../engine.ts";
import { isWithin, type Keyed, KeyMap, KeySet, type KnownKeys } from "../key_map.ts";

/** What a transaction read and must find unchanged at its commit. */
export interface Guards {
  readonly keys: KeyMap<Keyed>;
  readonly ranges: TextRange[];
}

/** Written keys and ranges, for those who wait for changes. */
export interface Written {
  readonly keys: KnownKeys;
  readonly ranges: readonly TextRange[];
}

/** What the transactions of the commit group in the making write. */
export interface WrittenGroup extends Written {
  keys: KeyMap<Keyed>;
  readonly ranges: TextRange[];
  /**
   * How many transactions have noted their writes. With one, `keys` is that transaction's own
   * map.
   */
  members: number;
}

/** What the commits of one version wrote. */
interface RecordedGroup extends Written {
  readonly version: number;
  readonly keys: KeySet;
  /** The keys in order, made when the first range is checked. */
  order: string[] | undefined;
}

export interface ConflictLog {
  /** Oldest first. */
  groups: RecordedGroup[];
  keyCount: number;
  /** Reads at versions below this one can no longer be checked. */
  floor: number;
}

/** Beyond this many remembered keys the oldest versions are dropped, even if still needed. */
const rememberedKeysMax = 1_000_000;

export function emptyConflictLog(): ConflictLog {
  return { groups: [], keyCount: 0, floor: 0 };
}

/** Never changed: the first member brings its own map. */
const NO_KEYS = new KeyMap<Keyed>();

export function openWrittenGroup(): WrittenGroup {
  return { keys: NO_KEYS, ranges: [], members: 0 };
}

/** Notes everything that a transaction writes. Its map must not be changed afterwards. */
export function noteWrites(
  group: WrittenGroup,
  writes: KeyMap<Keyed>,
  cleared: readonly TextRange[],
): void {
  for (const range of cleared) group.ranges.push(range);
  group.members++;
  // Writes that arrive together share a transaction, so most groups have one member.
  if (group.members === 1) {
    group.keys = writes;
    return;
  }
  if (group.members === 2) group.keys = copyOf(group.keys);
  for (const one of writes.entries) group.keys.put(one);
}

/**
 * Finds something guarded that was written by `pending` or by a version after `readVersion`.
 * @returns the conflicting key, or the begin of the conflicting range; "" when `readVersion` is
 * too old to be checked; undefined when there is no conflict.
 */
export function findConflict(
  log: ConflictLog,
  pending: WrittenGroup,
  guards: Guards,
  readVersion: number,
): string | undefined {
  if (guards.keys.entries.length === 0 && guards.ranges.length === 0) return undefined;
  if (readVersion < log.floor) return "";
  if (pending.members > 0) {
    const { entries } = pending.keys;
    const found = findTouched(
      pending,
      guards,
      (range) => entries.some(({ key }) => isWithin(key, range)),
    );
    if (found !== undefined) return found;
  }
  for (let i = log.groups.length - 1; i >= 0; i--) {
    const group = log.groups[i]!;
    if (group.version <= readVersion) return undefined;
    const found = findTouched(group, guards, (range) => touchesRange(group, range));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Remembers a durable group for as long as a transaction reads at a version before it. */
export function recordGroup(
  log: ConflictLog,
  version: number,
  { keys, ranges }: WrittenGroup,
  oldestReadVersion: number,
): void {
  if (version <= oldestReadVersion) {
    // No transaction needs this group, and hence none before it.
    log.groups = [];
    log.keyCount = 0;
    log.floor = version;
    return;
  }
  log.groups.push({ version, keys: setOf(keys), ranges, order: undefined });
  log.keyCount += keys.size + ranges.length;
  let drop = 0;
  while (drop < log.groups.length) {
    const oldest = log.groups[drop]!;
    const needed = oldest.version > oldestReadVersion;
    if (needed && log.keyCount <= rememberedKeysMax) break;
    log.floor = oldest.version;
    log.keyCount -= oldest.keys.size + oldest.ranges.length;
    drop++;
  }
  if (drop > 0) log.groups.splice(0, drop);
}

/** More keys than this are not compared with a range: it counts as written. */
const COMPARED_KEYS_MAX = 2_000;

/** Whether the key was written or cleared. */
export function isKeyWritten({ keys, ranges }: Written, key: Bytes, hash: number): boolean {
  return keys.has(key, hash) || ranges.some((range) => isWithin(key, range));
}

/** Whether something in the range may have been written. */
export function isRangeWritten({ keys, ranges }: WrittenGroup, range: TextRange): boolean {
  if (ranges.some((one) => isOverlap(one, range))) return true;
  if (keys.size > COMPARED_KEYS_MAX) return true;
  return keys.entries.some(({ key }) => isWithin(key, range));
}

/** @param holds whether keys of the range were written. */
function findTouched(
  written: Written,
  guards: Guards,
  holds: (range: TextRange) => boolean,
): string | undefined {
  for (const { key, hash } of guards.keys.entries) {
    if (isKeyWritten(written, key, hash)) return textOf(key);
  }
  for (const range of guards.ranges) {
    if (holds(range) || written.ranges.some((one) => isOverlap(one, range))) return range.begin;
  }
  return undefined;
}

function isOverlap(a: TextRange, b: TextRange): boolean {
  return a.begin < b.end && b.begin < a.end;
}

function touchesRange(group: RecordedGroup, { begin, end }: TextRange): boolean {
  group.order ??= group.keys.sortedTexts();
  const first = group.order[lowerBound(group.order, begin)];
  return first !== undefined && first < end;
}

function copyOf(keys: KeyMap<Keyed>): KeyMap<Keyed> {
  const copy = new KeyMap<Keyed>();
  for (const one of keys.entries) copy.put(one);
  return copy;
}

/**
 * A group is remembered for seconds. Copying its keys frees its values and the slabs under its
 * keys.
 */
function setOf(keys: KeyMap<Keyed>): KeySet {
  const set = new KeySet();
  for (const one of keys.entries) set.add(one);
  return set;
}
