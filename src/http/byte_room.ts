/**
 * Memory that many requests of a process share, counted in bytes: for bodies that are being read,
 * for answers that nobody has taken yet. No owner (an instance, an operator) holds more than a
 * part of it, so that one cannot keep the others out.
 */

export interface ByteRoom {
  /** The part of one request; what it holds is given back by {@link Share.leave}. */
  open(owner: string): Share;
  heldBytes(): number;
  /** Whether another request of `owner` could take so many bytes now. */
  hasRoom(owner: string, bytes: number): boolean;
}

export interface Share {
  /** False: there is no room for so many bytes more. */
  take(bytes: number): boolean;
  /**
   * The same, but waits for others to give back what they hold. A request waits a second in all:
   * else many would hold a part each, and none would come to its end.
   */
  takeSoon(bytes: number): boolean | Promise<boolean>;
  giveBack(bytes: number): void;
  /** Gives back all of it, for good: nothing can be taken any more. */
  leave(): void;
}

/** One owner may hold this part of all, unless a single request of its own needs more. */
const OWNER_PARTS = 4;
/** What is held is mostly held for milliseconds. */
const WAIT_MS = 1_000;

interface Owner {
  readonly name: string;
  bytes: number;
  /** Requests of it that hold something. */
  holding: number;
  /** The one that may pass the share, so that one at a time always comes to its end. */
  favoured?: Share;
}

interface Waiting {
  /** What the request holds already. */
  readonly own: number;
  readonly retry: () => boolean;
  readonly resolve: (isTaken: boolean) => void;
}

export function openByteRoom(bytesMax: number, waitMs: number = WAIT_MS): ByteRoom {
  const shareMax = bytesMax / OWNER_PARTS;
  const owners = new Map<string, Owner>();
  const waiting = new Set<Waiting>();
  let held = 0;

  function ownerOf(name: string): Owner {
    const known = owners.get(name);
    if (known !== undefined) return known;
    const owner = { name, bytes: 0, holding: 0 };
    owners.set(name, owner);
    return owner;
  }

  /** A request that is the only one of its owner may pass the share, else it never could. */
  function fits(owner: Owner, share: Share, own: number, bytes: number): boolean {
    if (held + bytes > bytesMax) return false;
    if (owner.bytes + bytes <= shareMax) return true;
    return owner.bytes === own || owner.favoured === share;
  }

  /** Who holds most comes first, for it is nearest to its end and to giving it back. */
  function wake(): void {
    if (waiting.size === 0) return;
    for (const one of [...waiting].sort((a, b) => b.own - a.own)) {
      if (one.retry()) one.resolve(true);
    }
  }

  function open(name: string): Share {
    let own = 0;
    let patienceMs = waitMs;
    let hasLeft = false;

    function take(bytes: number): boolean {
      if (hasLeft) return false;
      const owner = ownerOf(name);
      if (!fits(owner, share, own, bytes)) {
        if (owner.holding === 0) owners.delete(name);
        return false;
      }
      if (own === 0) owner.holding++;
      own += bytes;
      owner.bytes += bytes;
      held += bytes;
      return true;
    }

    function giveBack(bytes: number): void {
      const owner = owners.get(name);
      if (owner === undefined || bytes === 0) return;
      own -= bytes;
      owner.bytes -= bytes;
      held -= bytes;
      if (own === 0 && --owner.holding === 0) owners.delete(name);
      wake();
    }

    function takeSoon(bytes: number): boolean | Promise<boolean> {
      if (take(bytes)) return true;
      if (patienceMs <= 0 || hasLeft) return false;
      return new Promise((resolve) => {
        const beganMs = performance.now();
        const one = { own, retry: () => take(bytes), resolve: settle };
        const timer = setTimeout(giveUp, patienceMs);
        function giveUp(): void {
          const owner = owners.get(name);
          if (owner !== undefined) owner.favoured ??= share;
          settle(take(bytes));
        }
        function settle(isTaken: boolean): void {
          clearTimeout(timer);
          patienceMs -= performance.now() - beganMs;
          waiting.delete(one);
          resolve(isTaken);
        }
        waiting.add(one);
      });
    }

    function leave(): void {
      hasLeft = true;
      const owner = owners.get(name);
      if (owner?.favoured === share) owner.favoured = undefined;
      giveBack(own);
    }

    const share: Share = { take, takeSoon, giveBack, leave };
    return share;
  }

  function hasRoom(name: string, bytes: number): boolean {
    const ownBytes = owners.get(name)?.bytes ?? 0;
    return held + bytes <= bytesMax && (ownBytes === 0 || ownBytes + bytes <= shareMax);
  }

  return { open, heldBytes: () => held, hasRoom };
}
