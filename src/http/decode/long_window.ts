/**
 * The part of a long text that is in memory as one string while it is read (`json_long.ts`).
 *
 * A body arrives in blocks. To join all of them takes tens of milliseconds for some megabytes, so
 * only the group that is being read and what follows next are joined. What has been parsed leaves
 * the window, and so does long white space. Positions in refusals are those of the whole text.
 */

/** A run of white space. */
export interface Spaces {
  /** The window position of its second character: the first one stays. */
  readonly from: number;
  readonly to: number;
}

/** White space that has left the window, before the character at `at`. */
export interface Cut {
  readonly at: number;
  readonly characters: number;
}

/** The window, and all positions in it that a reader remembers. */
export interface LongWindow {
  text: string;
  /** What follows the window. */
  readonly blocks: string[];
  /** How many characters of the whole text precede the window. */
  dropped: number;
  cuts: readonly Cut[];
  /** As much as this is read in one step. */
  readonly groupCharacters: number;
  at: number;
  /** Where the group begins that is read: what precedes it has been parsed. */
  groupStart: number;
  /** The position of the first number not yet parsed that a double cannot hold. */
  faultyAt: number;
  /** Long white space that may leave the window. */
  readonly spaces: Spaces[];
  depth: number;
  /** By depth: where the currently open container began, and its last comma. */
  readonly openAt: Int32Array;
  readonly commaAt: Int32Array;
}

/** The position in the whole text of the character at `at` in the window. */
export function placeOf({ dropped, cuts }: LongWindow, at: number): number {
  let place = dropped + at;
  for (const cut of cuts) {
    if (cut.at <= at) place += cut.characters;
  }
  return place;
}

/** Adds the blocks that come next; positions stay. False: there are none. */
export function extend(window: LongWindow): boolean {
  // At least as much as what is kept, so that all joining together is linear.
  let missing = Math.max(1, window.text.length - window.groupStart);
  let added = "";
  // Bounded: by the number of blocks.
  while (missing > 0) {
    const block = window.blocks.shift();
    if (block === undefined) break;
    added += block;
    missing -= block.length;
  }
  window.text += added;
  return added !== "";
}

/** Drops what has been parsed, and long white space, and adds blocks until a group is there. */
export function refill(window: LongWindow): void {
  if (window.blocks.length === 0 || hasGroup(window)) return;
  drop(window);
  while (!hasGroup(window) && extend(window));
}

function hasGroup({ text, at, groupCharacters }: LongWindow): boolean {
  return text.length - at >= groupCharacters;
}

function drop(window: LongWindow): void {
  const { text, groupStart } = window;
  const spaces = window.spaces.splice(0).filter(({ from }) => from > groupStart);
  let kept = "";
  let start = groupStart;
  const cuts: Cut[] = [];
  for (const { from, to } of spaces) {
    kept += text.slice(start, from);
    cuts.push({ at: kept.length, characters: to - from });
    start = to;
  }
  const move = (at: number) => at - groupStart - charactersBefore(at, spaces);
  const earlier = window.cuts.filter((cut) => cut.at > groupStart);
  window.dropped = placeOf(window, groupStart);
  window.cuts = [...earlier.map(({ at, characters }) => ({ at: move(at), characters })), ...cuts];
  window.text = kept + text.slice(start);
  window.at = move(window.at);
  window.faultyAt = move(window.faultyAt);
  window.groupStart = 0;
  // Those of what has been parsed become negative.
  for (let depth = 0; depth <= window.depth; depth++) {
    window.openAt[depth] = move(window.openAt[depth]!);
    window.commaAt[depth] = move(window.commaAt[depth]!);
  }
}

function charactersBefore(at: number, spaces: readonly Spaces[]): number {
  let characters = 0;
  for (const { from, to } of spaces) {
    if (to <= at) characters += to - from;
  }
  return characters;
}
