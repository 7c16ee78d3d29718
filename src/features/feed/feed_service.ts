/**
 * The feed: every event of an environment in commit order, in pages, and word of new commits for
 * those who follow it live. See docs/reference/feed.md.
 */

import { type FeedFilter, parseFeedTypes } from "../../domain/feed/filter.ts";
import type { FeedPage, FeedRequest } from "../../domain/feed/page.ts";
import {
  BEFORE_EVERYTHING,
  FEED_START,
  type FeedPosition,
  formatCursor,
  type LogPlace,
  parseCursor,
  WHOLE_RECORD,
} from "../../domain/feed/place.ts";
import { limits } from "../../domain/limits.ts";
import { checkStart } from "../../domain/list_page.ts";
import type { AggregateName, TypesPage, TypesRequest } from "../../domain/reading.ts";
import { openTransactionPieces } from "../../domain/fairness/transaction_pieces.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { typesBehind } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { readFeedId, readLogAt, setFeedId } from "../../store/feed/commit_log.ts";
import { BEFORE_COMMITS, logEnd, readFill } from "../../store/feed/fill.ts";
import {
  countLogged,
  moveTypeCounts,
  readCountedPlace,
  readTypeCounts,
  sumOfCounts,
} from "../../store/feed/type_counts.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { fillFeeds } from "./fill_feed.ts";
import { type Follower, openCommitFollowers } from "./follow_commits.ts";
import { openPageTurns } from "./page_turns.ts";
import { readFeedPage } from "./read_feed.ts";
import { feedPageName, openSharedPages } from "./shared_pages.ts";
import { openSharedTails, type ReadSharedTail } from "./shared_tails.ts";
import { locateTail, readTailPage, type TailPage, type TailRequest } from "./read_tail.ts";

export interface FeedService {
  /** Refuses a cursor that is none of this feed, and types that the spec does not have. */
  readPage(tenant: Tenant, request: FeedRequest): Promise<Outcome<FeedPage>>;
  /**
   * The same for live readers that follow the environment: those that ask for the same page at the
   * same time share it.
   */
  readShared(tenant: Tenant, request: FeedRequest): Promise<Outcome<FeedPage>>;
  /** What is new in one stream. */
  readTail(tenant: Tenant, request: TailRequest): Promise<Outcome<TailPage>>;
  /** The same for live readers, who share pages as those of the feed do. */
  readonly readSharedTail: ReadSharedTail;
  /** The key of a stream, to follow it by. */
  locate(tenant: Tenant, name: AggregateName): Promise<Outcome<StreamKey>>;
  /** Waits for commits of the environment, or only for those to one stream. */
  follow(tenant: Tenant, stream?: StreamKey): Follower;
  /** How many followers this process has. */
  countFollowers(): number;
  /** How many aggregates and events each type has. What it cannot count, it leaves to workers. */
  readTypes(tenant: Tenant, request: TypesRequest): Promise<Outcome<TypesPage>>;
  /** For workers: counts what requests have found uncounted; returns how many went forward. */
  countTypes(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when there is something to count. */
  followCounts(wake: () => void): () => Promise<void>;
  /** For workers: fills in the logs of stores made before the feed; returns what is left to do. */
  fill(isStopping?: () => boolean): Promise<number>;
}

export interface FeedParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
}

const CHECK_BYTES = 4;
/** Environments whose feeds are known by heart. */
const CHECKS_MAX = 1_000;

interface Asked {
  readonly from: string;
  readonly filter: FeedFilter | undefined;
  readonly limit: number;
  readonly bytesMax: number;
  readonly check: string;
  readonly until: LogPlace | undefined;
}

export function createFeed({ engine, host, specs }: FeedParts): FeedService {
  const followers = openCommitFollowers(engine, host);
  const shared = openSharedPages<FeedPage>(followers.seen);
  const isRemote = engine.capabilities.isShared;
  const turns = openPageTurns(host, isRemote);
  const readSharedTail = openSharedTails({ engine, specs, turns, seen: followers.seen });
  /** They never change. */
  const checks = createRecentMap<number, string>(CHECKS_MAX);

  async function readPage(
    { number: tenant }: Tenant,
    { from, types, limit, bytesMax = limits.pageBytesMax }: FeedRequest,
    until?: LogPlace,
  ): Promise<Outcome<FeedPage>> {
    const filter = types === undefined
      ? accept(undefined)
      : parseFeedTypes(types, await specs.current(tenant));
    if (!filter.ok) return filter;
    const check = await checkOf(tenant);
    const asked = { from, filter: filter.value, limit, bytesMax, check, until };
    return await turns.run(tenant, () => engine.snapshot((tx) => pageOf(tx, tenant, asked)));
  }

  async function pageOf(
    tx: ReadTransaction,
    tenant: number,
    { from, check, ...how }: Asked,
  ): Promise<Outcome<FeedPage>> {
    if (from === "now") {
      const next = formatCursor(await endOf(tx, tenant), check);
      const [isUpToDate, isBuilding] = [true, false];
      return accept({ entries: [], erased: [], next, isUpToDate, isBuilding });
    }
    const after = from === "start" ? BEFORE_EVERYTHING : parseCursor(from, check);
    if (after === undefined) return refuseCursor();
    if (after.place < BEFORE_COMMITS && await readFill(tx, tenant) !== undefined) {
      const next = formatCursor(after, check);
      const [isUpToDate, isBuilding] = [false, true];
      return accept({ entries: [], erased: [], next, isUpToDate, isBuilding });
    }
    const [page, isLost] = await Promise.all([
      readFeedPage(tx, host, tenant, { after, check, isRemote, ...how }),
      isBeyond(tx, tenant, after),
    ]);
    if (isLost) {
      const newest = formatCursor(await endOf(tx, tenant), check);
      return refuse({ kind: "cursor_expired", newest });
    }
    return accept({ ...page, isBuilding: false });
  }

  /** What cursors of the feed end with. It is made when the feed is read first. */
  async function checkOf(tenant: number): Promise<string> {
    const known = checks.get(tenant);
    if (known !== undefined) return known;
    const check = await engine.snapshot((tx) => readFeedId(tx, tenant)) ?? await makeCheck(tenant);
    checks.set(tenant, check);
    return check;
  }

  async function makeCheck(tenant: number): Promise<string> {
    const fresh = host.randomBytes(CHECK_BYTES).toHex();
    return await engine.transact(async (tx) => {
      const before = await readFeedId(tx, tenant);
      if (before === undefined) setFeedId(tx, tenant, fresh);
      return before ?? fresh;
    });
  }

  return {
    readPage: (tenant, request) => readPage(tenant, request),
    readShared(tenant, request) {
      const name = feedPageName(request);
      return shared.read(tenant.number, name, (until) => readPage(tenant, request, until));
    },
    readTail: (tenant, request) => readTailPage({ engine, specs }, tenant, request),
    readSharedTail,
    locate: (tenant, name) => locateTail(specs, tenant, name),
    follow: ({ number }, stream) => followers.follow(number, stream),
    countFollowers: followers.count,
    fill: (isStopping) => fillFeeds(engine, isStopping),
    ...createTypeCounter({ engine, host, specs }),
  };
}

/** Fewer records than these are counted again by each request rather than stored. */
const UNCOUNTED_RECORDS_MAX = 500;
/** Longer than any name, so a longer cursor names nothing. */
const TYPE_CHARACTERS_MAX = 256;

type TypeCounter = Pick<FeedService, "readTypes" | "countTypes" | "followCounts">;

function createTypeCounter({ engine, host, specs }: FeedParts): TypeCounter {
  /** Environments of which a request has found much uncounted. */
  const asked = new Set<number>();
  const wakes = new Set<() => void>();

  async function readTypes(
    { number: tenant }: Tenant,
    { limit, start }: TypesRequest,
  ): Promise<Outcome<TypesPage>> {
    const checked = checkStart(start, TYPE_CHARACTERS_MAX);
    if (!checked.ok) return checked;
    const spec = await specs.current(tenant);
    const { isBuilding, stored, logged } = await engine.snapshot(async (tx) => {
      const isBuilding = await readFill(tx, tenant) !== undefined;
      const stored = await readTypeCounts(tx, tenant, { start, limit: limit + 1 });
      if (isBuilding) return { isBuilding, stored };
      const place = await readCountedPlace(tx, tenant);
      return {
        isBuilding,
        stored,
        logged: await countLogged(tx, tenant, place, {
          pieces: openTransactionPieces(host, tenant),
        }),
      };
    });
    if (logged !== undefined && (!logged.isAtEnd || logged.records > UNCOUNTED_RECORDS_MAX)) {
      asked.add(tenant);
      for (const wake of wakes) wake();
    }
    const added = logged?.added ?? new Map();
    const declared = typesBehind(spec.aggregateTypes, start, limit + 1);
    const names = [...new Set([...declared, ...stored.keys(), ...added.keys()])]
      .filter((name) => start === undefined || name > start).sort();
    const data = names.slice(0, limit)
      .map((type) => ({ type, ...sumOfCounts(stored.get(type), added.get(type)) }));
    const truncated = names.length > limit;
    return accept({
      data,
      limit,
      truncated,
      ...(truncated && { next_start: data.at(-1)!.type }),
      up_to_date: logged?.isAtEnd ?? false,
      ...(isBuilding && { building: true }),
    });
  }

  async function countTypes(isStopping = () => false): Promise<number> {
    let moved = 0;
    for (const tenant of asked) {
      if (isStopping()) break;
      const move = (tx: Transaction) =>
        moveTypeCounts(tx, tenant, openTransactionPieces(host, tenant));
      const { records, isAtEnd } = await engine.transact(move, { owner: tenant });
      if (isAtEnd) asked.delete(tenant);
      if (records > 0) moved++;
    }
    return moved;
  }

  function followCounts(wake: () => void) {
    wakes.add(wake);
    return () => Promise.resolve(void wakes.delete(wake));
  }

  return { readTypes, countTypes, followCounts };
}

function refuseCursor() {
  const message = "from must be start, now, or a cursor that this feed has given out";
  return refuse({ kind: "bad_request", message, path: "from" });
}

/** Behind all commits. */
async function endOf(tx: ReadTransaction, tenant: number): Promise<FeedPosition> {
  return { place: await logEnd(tx, tenant), offset: WHOLE_RECORD };
}

/** Whether the place of a cursor is not in the log, because an older store was restored. */
async function isBeyond(
  tx: ReadTransaction,
  tenant: number,
  { place }: FeedPosition,
): Promise<boolean> {
  if (place === FEED_START || place === BEFORE_COMMITS) return false;
  return await readLogAt(tx, tenant, place) === undefined;
}
