/**
 * Memory that many requests of a process share, counted in bytes: for bodies that are being read,
 * for answers that nobody has taken yet. No owner (an instance, an operator) holds more than a
 * part of it, so that one cannot keep the others out.
 */

export interface ByteRoom {
  /** The part of one request; what it holds is given back by {@link Share.leave}. */
  open(owner: string): Share;
  heldBytes(): number;
}

export interface Share {
  /** False: there is no room for so many bytes more. */
  take(bytes: number): boolean;
  /** The same, but waits a little for others to give back what they hold. */
  takeSoon(bytes: number): boolean | Promise<boolean>;
  giveBack(bytes: number): void;
  /** Gives back all of it. May be called more than once. */
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
}

interface Waiting {
  readonly retry: () => boolean;
  readonly resolve: (isTaken: boolean) => void;
}

export function openByteRoom(bytesMax: number, waitMs: number = WAIT_MS): ByteRoom {
  const shareMax = bytesMax / OWNER_PARTS;
  const owners = new Map<string, Owner>();
  /** In the order in which they came. */
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
  function fits(owner: Owner, own: number, bytes: number): boolean {
    if (held + bytes > bytesMax) return false;
    return owner.bytes + bytes <= shareMax || owner.bytes === own;
  }

  function wake(): void {
    for (const one of waiting) {
      if (!one.retry()) continue;
      waiting.delete(one);
      one.resolve(true);
    }
  }

  function open(name: string): Share {
    let own = 0;

    function take(bytes: number): boolean {
      const owner = ownerOf(name);
      if (!fits(owner, own, bytes)) {
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
      return new Promise((resolve) => {
        const one = { retry: () => take(bytes), resolve: settle };
        const timer = setTimeout(() => settle(false), waitMs);
        function settle(isTaken: boolean): void {
          clearTimeout(timer);
          waiting.delete(one);
          resolve(isTaken);
        }
        waiting.add(one);
      });
    }

    return { take, takeSoon, giveBack, leave: () => giveBack(own) };
  }

  return { open, heldBytes: () => held };
}
