/**
 * Imports of events by operators, bound to one engine and one host.
 *
 * A process runs few imports at a time, and instances share the places. An instance with several
 * imports gives one up for an instance that has none, and an import that waits for its client gives
 * way to others. So neither many imports nor slow ones lock anybody out. An import that was ended
 * this way can be sent again and resumes where it was.
 */

import {
  importEvents,
  type ImportOutcome,
  type ImportParts,
  type ImportRequest,
} from "./import_events.ts";
import { refuseBusy, refuseUnavailable } from "./import_faults.ts";
import { type ImportView, isImportId, viewImport } from "../../domain/import/progress.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { formatUuid } from "../../domain/uuid.ts";
import { cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import type { Engine } from "../../kv/engine.ts";
import { listImports as listStored, readImport as readStored } from "../../store/imports.ts";
import { limits } from "../../domain/limits.ts";
import type { FilePieces } from "./read_lines.ts";

export interface ImportService {
  /** Without an `importId` a new one is made and returned in the answer. */
  run(
    tenant: Tenant,
    request: Omit<ImportRequest, "importId"> & { readonly importId?: string },
  ): Promise<ImportOutcome>;
  list(tenant: Tenant, page: PageRequest): Promise<Outcome<ImportPage>>;
  read(tenant: Tenant, id: string): Promise<Outcome<ImportView>>;
  /** Ends the imports under way, each with the events it has taken in; refuses new ones. */
  stop(): void;
}

const UUID_BYTES = 16;

export function createImports(parts: Omit<ImportParts, "stopping">): ImportService {
  const stop = new AbortController();
  const { engine, host } = parts;
  const places = openImportPlaces(host.monotonicMs);

  return {
    async run(tenant, request) {
      const place = stop.signal.aborted ? undefined : places.take(tenant.instanceId);
      if (place === undefined) return refuseBusy();
      const stopping = AbortSignal.any([stop.signal, place.ending]);
      const pieces: ImportRequest["pieces"] = (signal) => place.watch(request.pieces(signal));
      try {
        const importId = request.importId ?? formatUuid(host.randomBytes(UUID_BYTES));
        const asked = { ...request, importId, pieces };
        const outcome = await importEvents({ ...parts, stopping }, tenant.number, asked);
        const end = endOf(place.ending);
        return outcome.ok || end === undefined ? outcome : { ...outcome, ...end };
      } finally {
        place.leave();
      }
    },
    list: (tenant, page) => listImports(engine, tenant.number, page),
    read: (tenant, id) => readImport(engine, tenant.number, id),
    stop: () => stop.abort(),
  };
}

type ImportPage = ListPage<ImportView>;

/** A page of the environment's imports, sorted by id. */
async function listImports(
  engine: Engine,
  tenant: number,
  { start, limit }: PageRequest,
): Promise<Outcome<ImportPage>> {
  if (start !== undefined && !isImportId(start)) {
    return refuse({ kind: "bad_request", message: "start must be an import id", path: "start" });
  }
  const found = await engine.snapshot((tx) =>
    listStored(tx, tenant, { start, limit: pageLimit(limit) + 1 })
  );
  return accept(cutPage(found.map(viewImport), limit, ({ import_id }) => import_id));
}

async function readImport(
  engine: Engine,
  tenant: number,
  id: string,
): Promise<Outcome<ImportView>> {
  const found = isImportId(id)
    ? await engine.snapshot((tx) => readStored(tx, tenant, id))
    : undefined;
  if (found !== undefined) return accept(viewImport(found));
  return refuse({ kind: "not_found", message: "Import not found" });
}

export interface ImportPlace {
  /** Aborted when the import has to end; the reason is the refusal to answer with. */
  readonly ending: AbortSignal;
  /**
   * Passes the pieces on, measures how long the client makes us wait, and ends an import that
   * is too slow.
   */
  watch(pieces: FilePieces): FilePieces;
  leave(): void;
}

interface ImportPlaces {
  /** Returns undefined if no place is free. */
  take(instanceId: string): ImportPlace | undefined;
}

type Piece = FilePieces extends AsyncIterable<infer Value> ? Value : never;
type Ended = ReturnType<typeof refuseUnavailable>;

interface Taken {
  readonly instanceId: string;
  readonly ending: AbortController;
  /** Of the current measuring window: how long we waited for the client, and the bytes received. */
  waitedMs: number;
  bytes: number;
  /** Since when we have been waiting for the client; undefined while we are not. */
  sinceMs: number | undefined;
}

/** `monotonicMs` is a monotonic clock, in milliseconds. */
export function openImportPlaces(monotonicMs: () => number): ImportPlaces {
  const taken = new Set<Taken>();

  /**
   * Makes room for an instance without an import. Returns false if all others need their
   * places.
   */
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

/** Judges a measuring window once it is full, and begins the next one. */
function isDripping(one: Taken): boolean {
  if (one.waitedMs < limits.importWaitMsWindow) return false;
  const isSlow = one.bytes * limits.importWaitMsWindow < limits.importBytesMin * one.waitedMs;
  one.waitedMs = 0;
  one.bytes = 0;
  return isSlow;
}

/** The import whose client sends least, among those that have made us wait and send too little. */
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

/** How long a client has to send its first bytes. */
const GRACE_MS = 1_000;
const AGAIN = "send the file again with the same import_id to go on";
const GIVEN_UP = refuseUnavailable(`Another instance needs the place of this import; ${AGAIN}`);
const GIVES_WAY = refuseUnavailable(`The file came slowly and other imports wait; ${AGAIN}`);
const TOO_SLOW = refuseUnavailable(
  `The file came too slowly, less than ${limits.importBytesMin} bytes in ` +
    `${limits.importWaitMsWindow / 1000} s; ${AGAIN}`,
);

/** The refusal for an import whose place was taken away. */
export function endOf(ending: AbortSignal): Ended | undefined {
  return ending.aborted ? ending.reason as Ended : undefined;
}
