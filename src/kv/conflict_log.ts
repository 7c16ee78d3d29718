/**
 * Which keys recent commits wrote, so that a transaction can be refused when something it read
 * has changed since. A commit group in the making is apart until it is durable: were it recorded
 * before and then failed, its keys would conflict with readers that no later version ever helps.
 */

import { lowerBound, textOf, type TextRange } from "./byte_text.ts";
import { isWithin, type Keyed } from "./key_bytes.ts";
import { KeyMap, KeySet, type KnownKeys } from "./key_map.ts";

/** What a transaction read and must find unchanged. */
export interface Guards {
  readonly keys: KeyMap<Keyed>;
  readonly ranges: TextRange[];
}

/** What was written: for those who wait for changes. */
export interface Written {
  readonly keys: KnownKeys;
  readonly ranges: readonly TextRange[];
}

/** What the transactions of a group in the making write. */
export interface WrittenGroup extends Written {
  keys: KeyMap<Keyed>;
  readonly ranges: TextRange[];
  /** How many transactions have noted their writes. The keys of a single one are its own map. */
  members: number;
}

/** What the commits of one version wrote. */
interface RecordedGroup extends Written {
  readonly version: number;
  readonly keys: KeySet;
  /** The keys in order, made when the first range is checked. Until then none is a text. */
  order: string[] | undefined;
}

export interface ConflictLog {
  /** Oldest first. */
  groups: RecordedGroup[];
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
  return { keys: new KeyMap(), ranges: [], members: 0 };
}

/** Notes all that a transaction writes. Its map is not to be changed any more. */
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

/** Remembers a durable group for as long as somebody reads at a version before it. */
export function recordGroup(
  log: ConflictLog,
  version: number,
  { keys, ranges }: WrittenGroup,
  oldestReadVersion: number,
): void {
  if (version <= oldestReadVersion) {
    // Nobody needs this one, and so none of those before.
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

/** @param holds whether keys of the range were written. */
function findTouched(
  { keys, ranges }: Written,
  guards: Guards,
  holds: (range: TextRange) => boolean,
): string | undefined {
  for (const { key, hash } of guards.keys.entries) {
    const isTouched = keys.has(key, hash) || ranges.some((range) => isWithin(key, range));
    if (isTouched) return textOf(key);
  }
  for (const range of guards.ranges) {
    if (holds(range)) return range.begin;
    for (const { begin, end } of ranges) {
      if (begin < range.end && range.begin < end) return range.begin;
    }
  }
  return undefined;
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

/** A group is remembered for seconds: its values and the slabs under its keys must not be. */
function setOf(keys: KeyMap<Keyed>): KeySet {
  const set = new KeySet();
  for (const { key, hash } of keys.entries) set.add(key, hash);
  return set;
}
