/**
 * Memory shared by many requests of a process, counted in bytes.
 *
 * It bounds the bodies being read and the answers that clients have not taken yet. No owner (an
 * instance or an operator) may hold more than a fraction, so that one cannot keep the others
 * out.
 */

export interface ByteRoom {
  /** Opens a share for one request; {@link Share.leave} returns everything it holds. */
  open(owner: string): Share;
  heldBytes(): number;
  /** Whether another request of `owner` could take this many bytes now. */
  hasRoom(owner: string, bytes: number): boolean;
}

export interface Share {
  /** False if there is no room for this many more bytes. */
  take(bytes: number): boolean;
  /**
   * Like `take`, but waits for others to return bytes. A request waits at most a second in all;
   * otherwise many requests could each hold a part and none would finish.
   */
  takeSoon(bytes: number): boolean | Promise<boolean>;
  giveBack(bytes: number): void;
  /** Returns everything for good: the share can take no more bytes. */
  leave(): void;
}

/** One owner may hold 1/OWNER_PARTS of the total, unless a single request of its own needs more. */
const OWNER_PARTS = 4;
/** Most bytes are held only for milliseconds. */
const WAIT_MS = 1_000;

interface Owner {
  readonly name: string;
  bytes: number;
  /** The number of its requests that hold bytes. */
  holding: number;
  /** The request that may exceed the owner's fraction, so that one at a time can always finish. */
  favoured?: Share;
}

interface Waiting {
  /** The bytes that the request holds already. */
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

  /**
   * Whether the bytes fit. The only active request of an owner may exceed the fraction;
   * otherwise it could never finish.
   */
  function fits(owner: Owner, share: Share, own: number, bytes: number): boolean {
    if (held + bytes > bytesMax) return false;
    if (owner.bytes + bytes <= shareMax) return true;
    return owner.bytes === own || owner.favoured === share;
  }

  /** The request that holds most goes first: it is nearest to finishing and returning its bytes. */
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
