/**
 * The few imports that a process runs at a time, shared by instances. One that has several gives
 * one up for an instance that has none, and one that waits for its client gives way to others: so
 * neither many imports nor slow ones keep anybody out. What is ended so can be sent again, and goes
 * on where it was.
 */

import { limits } from "../../domain/limits.ts";
import { refuseUnavailable } from "./import_faults.ts";
import type { FilePieces } from "./read_lines.ts";

export interface ImportPlace {
  /** Aborted where the import has to end; its reason is what to answer. */
  readonly ending: AbortSignal;
  /** The pieces, with the time looked at that the client lets us wait. */
  watch(pieces: FilePieces): FilePieces;
  leave(): void;
}

export interface ImportPlaces {
  /** Undefined where there is none. */
  take(instanceId: string): ImportPlace | undefined;
}

type Piece = FilePieces extends AsyncIterable<infer Value> ? Value : never;
type Ended = ReturnType<typeof refuseUnavailable>;

interface Taken {
  readonly instanceId: string;
  readonly ending: AbortController;
  /** Of the window under way: how long the client was waited for, and what came. */
  waitedMs: number;
  bytes: number;
  /** Since when it is waited for; undefined while it is not. */
  sinceMs: number | undefined;
}

/** `monotonicMs`: a clock that only goes forward. */
export function openImportPlaces(monotonicMs: () => number): ImportPlaces {
  const taken = new Set<Taken>();

  /** Makes room for an instance that has no import; false where all others need theirs. */
  function makeRoom(): boolean {
    const own = new Map<string, Taken[]>();
    for (const each of taken) {
      own.set(each.instanceId, [...own.get(each.instanceId) ?? [], each]);
    }
    const most = [...own.values()].reduce((a, b) => b.length > a.length ? b : a);
    const nowMs = monotonicMs();
    const ended = most.length > 1 ? most.at(-1)! : slowest([...taken], nowMs);
    if (ended === undefined) return false;
    end(ended, most.length > 1 ? GIVEN_UP : GIVES_WAY);
    return true;
  }

  function end(one: Taken, why: Ended): void {
    taken.delete(one);
    one.ending.abort(why);
  }

  async function* watch(one: Taken, pieces: FilePieces): AsyncGenerator<Piece> {
    const source = pieces[Symbol.asyncIterator]();
    try {
      for (;;) {
        one.sinceMs = monotonicMs();
        const piece = await source.next();
        one.waitedMs += monotonicMs() - one.sinceMs;
        one.sinceMs = undefined;
        if (piece.done) return;
        if (piece.value.ok) one.bytes += piece.value.value.length;
        if (isDripping(one)) end(one, TOO_SLOW);
        yield piece.value;
      }
    } finally {
      await source.return?.();
    }
  }

  return {
    take(instanceId) {
      const isNew = [...taken].every((each) => each.instanceId !== instanceId);
      if (taken.size >= limits.importsUnderWayMax && !(isNew && makeRoom())) return undefined;
      const ending = new AbortController();
      const one: Taken = { instanceId, ending, waitedMs: 0, bytes: 0, sinceMs: undefined };
      taken.add(one);
      return {
        ending: ending.signal,
        watch: (pieces) => watch(one, pieces),
        leave: () => void taken.delete(one),
      };
    },
  };
}

/** Looks at a window once it is whole, and begins the next. */
function isDripping(one: Taken): boolean {
  if (one.waitedMs < limits.importWaitMsWindow) return false;
  const isSlow = one.bytes * limits.importWaitMsWindow < limits.importBytesMin * one.waitedMs;
  one.waitedMs = 0;
  one.bytes = 0;
  return isSlow;
}

/** The one whose client sends least, of those that have let us wait and send little. */
function slowest(all: readonly Taken[], nowMs: number): Taken | undefined {
  const rates = all.map((one) => {
    const waitedMs = one.waitedMs + (one.sinceMs === undefined ? 0 : nowMs - one.sinceMs);
    return { one, waitedMs, perMs: one.bytes / waitedMs };
  });
  const slow = rates.filter(({ waitedMs, perMs }) =>
    waitedMs >= GRACE_MS && perMs < limits.importBytesBesideOthersMin / limits.importWaitMsWindow
  );
  return slow.sort((a, b) => a.perMs - b.perMs)[0]?.one;
}

/** A client has so long to send the first bytes. */
const GRACE_MS = 1_000;
const AGAIN = "send the file again with the same import_id to go on";
const GIVEN_UP = refuseUnavailable(`Another instance needs the place of this import; ${AGAIN}`);
const GIVES_WAY = refuseUnavailable(`The file came slowly and other imports wait; ${AGAIN}`);
const TOO_SLOW = refuseUnavailable(
  `The file came too slowly, less than ${limits.importBytesMin} bytes in ` +
    `${limits.importWaitMsWindow / 1000} s; ${AGAIN}`,
);

/** What an import is answered whose place has ended. */
export function endOf(ending: AbortSignal): Ended | undefined {
  return ending.aborted ? ending.reason as Ended : undefined;
}
