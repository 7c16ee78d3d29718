/**
 * Shares a bounded room (bytes, entries or places) fairly among owners: {@link openShares} tells
 * who has no more, and {@link openWaitingRoom} lets them wait.
 *
 * Of shares, a lone owner may take half of the room, and each further owner half of what the others
 * leave. So there is always room for another owner.
 */

export interface Shares<Owner> {
  /** Whether an owner has used up its share. */
  isFull(owner: Owner): boolean;
  /** Takes `count` units, or gives them back when it is negative. */
  add(owner: Owner, count: number): void;
}

/** Owners are environments (by number) or instances (by id). */
export function openShares<Owner extends number | string = number>(
  countMax: number,
): Shares<Owner> {
  const byOwner = new Map<Owner, number>();
  let total = 0;

  return {
    isFull(owner) {
      const own = byOwner.get(owner) ?? 0;
      const others = total - own;
      return own > 0 && 2 * own >= countMax - others;
    },
    add(owner, count) {
      total += count;
      const own = (byOwner.get(owner) ?? 0) + count;
      if (own === 0) byOwner.delete(owner);
      else byOwner.set(owner, own);
    },
  };
}

/** A room for work that holds much of it for a short time. Who finds no room waits in line. */
export interface WaitingRoom<Owner> {
  /** Resolves when there is room, with what gives it back. */
  enter(owner: Owner, count: number): Promise<() => void>;
}

/** One owner may hold 1/OWNER_PARTS of the room, or a single larger piece of work. */
const OWNER_PARTS = 4;

interface Waiting {
  readonly count: number;
  readonly goOn: () => void;
}

/**
 * Owners take turns. Whoever is next but finds no room holds up the others, so that large work is
 * not overtaken by small work for ever; who has used up its own part holds up nobody.
 */
export function openWaitingRoom<Owner extends number | string = number>(
  countMax: number,
): WaitingRoom<Owner> {
  const held = new Map<Owner, number>();
  const lines = new Map<Owner, Waiting[]>();
  let total = 0;

  function add(owner: Owner, count: number): void {
    total += count;
    const own = (held.get(owner) ?? 0) + count;
    if (own === 0) held.delete(owner);
    else held.set(owner, own);
  }

  function moveOn(): void {
    // Bounded: each round lets one wait no more, or ends it; owners are few.
    for (const [owner, line] of lines) {
      const { count, goOn } = line[0]!;
      const own = held.get(owner) ?? 0;
      if (own > 0 && own + count > countMax / OWNER_PARTS) continue;
      if (total > 0 && total + count > countMax) return;
      line.shift();
      // Its next one comes after those of the others.
      lines.delete(owner);
      if (line.length > 0) lines.set(owner, line);
      add(owner, count);
      goOn();
    }
  }

  return {
    enter: (owner, count) =>
      new Promise((resolve) => {
        const line = lines.get(owner) ?? [];
        lines.set(owner, line);
        line.push({
          count,
          goOn: () =>
            resolve(() => {
              add(owner, -count);
              moveOn();
            }),
        });
        moveOn();
      }),
  };
}
