/**
 * The service: every command and query, bound to one engine and one host. It is all that
 * `http/` and `workers/` see of the product. Refusals are returned as values; a thrown error is
 * a bug or an outage.
 */

import { type Counters, newCounters } from "../domain/measures/counters.ts";
import type { ErrorPage, ErrorRecord } from "../domain/error_record.ts";
import type {
  AggregatePage,
  AggregateView,
  EventPage,
  ListAggregatesRequest,
  NearbyPage,
  NearbyRequest,
  PageRequest,
  ReadAggregateRequest,
  ReadEventsRequest,
  TypesPage,
  TypesRequest,
} from "../domain/reading.ts";
import type { ArchiveMeasure, StoreMeasure } from "../domain/measures/store_measure.ts";
import type { WebhookSettings } from "../domain/listener/webhook.ts";
import { limits } from "../domain/limits.ts";
import type { Outcome } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Tracer } from "../domain/measures/tracer.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../domain/write/write.ts";
import type { AccessService } from "./access/access_service.ts";
import { type AuditService, createAudit } from "./audit/audit_service.ts";
import { backgroundCalls, type BackgroundService } from "./work/background_service.ts";
import { createImports, type ImportService } from "./imports/imports_service.ts";
import { type BackupService, createBackups } from "./backup/backup_service.ts";
import type { BackupSource } from "./backup/write_backup.ts";
import { createLimits, type LimitsService } from "./limits/limits_service.ts";
import { createProjections, type ProjectionService } from "./projections/projections_service.ts";
import { type ReactionCalls, reactionCalls } from "./work/reactions_service.ts";
import { createFeed, type FeedService } from "./feed/feed_service.ts";
import { createErasure, type ErasureService } from "./erasure/erasure_service.ts";
import { createSpecService, type SpecService } from "./specs/specs_service.ts";
import {
  createSql,
  type SqlService,
  type SqlSettings,
} from "./projections/sql/query_projections.ts";
import { traceCommits, traceParts } from "./traced.ts";
import type { Host } from "../host.ts";
import { inBackground } from "../kv/calls.ts";
import type { Engine } from "../kv/engine.ts";
import { createModuleAsker } from "./writes/ask_modules.ts";
import { createOutsideAsker } from "./writes/ask_outside.ts";
import { createSagaAdvancer } from "./sagas/advance_sagas.ts";
import { createCombiner } from "./writes/combine.ts";
import { createDeliveryRunner, NO_DELIVERIES } from "./listeners/deliver_events.ts";
import { createTimerRunner } from "./work/fire_schedule.ts";
import { createSnapshotKeeper } from "./states/keep_snapshots.ts";
import { createRebuilder } from "./states/rebuild_snapshots.ts";
import { openErrorRecords } from "./base/record_error.ts";
import { createOutboxRunner } from "./reactions/run_outbox.ts";
import { ownAllWork, shareWork } from "./base/share_work.ts";
import { createEmitter } from "./writes/write_emission.ts";
import { createWriter } from "./writes/write_events.ts";
import { findNearby, listAggregates } from "./states/list_aggregates.ts";
import { openStoreMeasures } from "./work/measures.ts";
import { createAggregateReader } from "./states/read_aggregate.ts";
import { readEventPage, readLength } from "./states/read_events.ts";
import { type ComputeSettings, openCompute } from "./states/run_compute.ts";
import { type ModuleOperations, type ModuleSettings, openModules } from "./modules/run_modules.ts";
import { followPauses, type PausedReactions } from "./reactions/follow_pauses.ts";
import { openStateCache } from "./states/state_cache.ts";
import { openSpecCache, type SpecCache } from "./base/current_spec.ts";

export interface DataService extends ReactionCalls {
  writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>>;
  /**
   * The ledger's answer to a keyed body that is not a valid write; undefined if it has no
   * entry.
   */
  answerRecorded(
    tenant: Tenant,
    claim: IdempotencyClaim,
  ): Promise<Outcome<Written> | undefined>;
  readAggregate(tenant: Tenant, request: ReadAggregateRequest): Promise<Outcome<AggregateView>>;
  readLength(tenant: Tenant, aggregateType: string, id: string): Promise<Outcome<number>>;
  readEvents(tenant: Tenant, request: ReadEventsRequest): Promise<Outcome<EventPage>>;
  listAggregates(tenant: Tenant, request: ListAggregatesRequest): Promise<Outcome<AggregatePage>>;
  findNearby(tenant: Tenant, request: NearbyRequest): Promise<Outcome<NearbyPage>>;
  readTypes(tenant: Tenant, request: TypesRequest): Promise<Outcome<TypesPage>>;
  readError(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>>;
  listErrors(tenant: Tenant, page: PageRequest): Promise<Outcome<ErrorPage>>;
  /**
   * Keeps a 5xx for a day, in memory while the store is unavailable; returns the `err_` id.
   * Never throws. `tenant` is undefined if the caller is not known yet: such a record is only
   * logged.
   */
  recordError(
    tenant: Tenant | undefined,
    error: Omit<ErrorRecord, "error_id" | "occurred_at">,
  ): string;
}

/** What operators monitor. */
export interface OperationsService extends ModuleOperations {
  /** The counters of this process. */
  readonly counters: Counters;
  /**
   * Measures the store and its queues. The result is at most a second old and arrives within
   * two seconds. Never throws.
   */
  measureStore(): Promise<StoreMeasure>;
  /** Absent if there is no archive. */
  readonly measureArchive?: () => ArchiveMeasure;
  /** The number of shards of background work that this process holds, by queue. */
  countLeases(): ReadonlyMap<string, number>;
}

export interface Service {
  readonly data: DataService;
  readonly specs: SpecService;
  readonly access: AccessService;
  readonly audit: AuditService;
  readonly backup: BackupService;
  readonly erasure: ErasureService;
  readonly feed: FeedService;
  readonly imports: ImportService;
  readonly projections: ProjectionService;
  readonly sql: SqlService;
  readonly background: BackgroundService;
  readonly operations: OperationsService;
  readonly limits: LimitsService;
  /** Resolves if the store answers a read; rejects if it does not. For `/health/ready`. */
  ping(): Promise<void>;
  /** The error that broke the store, so that this process must be restarted. For `/health/live`. */
  failure(): Error | undefined;
  /** Ends the watches and waits for writes under way; the engine stays open. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** Counters to share with the engine's meter and the worker loop. */
  readonly counters?: Counters;
  /** False: every implied event goes through the outbox. For tests; true if absent. */
  readonly isDirect?: boolean;
  /**
   * How this process sends deliveries. Absent: it sends none and leaves them to other
   * processes.
   */
  readonly webhooks?: WebhookSettings;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
  /** What a backup has beside the store. Absent: this process writes none. */
  readonly backup?: BackupSource;
  /** How the archive is doing. Absent: there is none. */
  readonly measureArchive?: () => ArchiveMeasure;
  /** How modules are run. */
  readonly wasm?: ModuleSettings;
  /** How heavy computations are run. */
  readonly compute?: ComputeSettings;
  /** How SQL queries run, and where their copies of projections are. Absent: SQL is unavailable. */
  readonly sql?: SqlSettings;
}

const COMPUTE_DEFAULTS = { runners: 2 };
const WASM_DEFAULTS = { runners: 3, stackKilobytes: limits.wasmStackKilobytesDefault };

/** A store that is available answers sooner; see `EngineUnavailable`. */
const PING_MS_MAX = 4_500;
/** The time at process exit for releasing leases and finishing writes. */
const CLOSE_MS_MAX = 2_000;

/** `access` is passed in ready-made because its secrets come from outside the store. */
export function createService(
  engine: Engine,
  host: Host,
  access: AccessService,
  options: ServiceOptions = {},
): Service {
  const { counters = newCounters(), webhooks, tracer } = options;
  const specs = openSpecCache(engine, host);
  const tools = { engine, host, specs, counters };
  const later = { ...tools, engine: inBackground(engine) };
  const keeper = createSnapshotKeeper(later.engine, host, specs);
  const cache = openStateCache();
  const modules = openModules(engine, host, counters, options.wasm ?? WASM_DEFAULTS);
  const compute = openCompute(engine, host, options.compute ?? COMPUTE_DEFAULTS);
  const runners = { modules, compute };
  const reader = createAggregateReader({ ...tools, cache, onSnapshotDue: keeper.add, runners });
  const errors = openErrorRecords(engine, host, counters);
  const share = engine.capabilities.isShared ? shareWork(engine, host) : ownAllWork();
  const rebuilder = createRebuilder({ ...later, ...runners }, specs, share);
  const deliveries = webhooks === undefined
    ? NO_DELIVERIES
    : createDeliveryRunner({ ...later, share, ...webhooks });
  const asker = createModuleAsker(host, modules);
  const judging = { ...tools, ...runners, reader };
  const commits = createCombiner(engine, host, { counters, lanes: deliveries, judging });
  const combiner = traceCommits(commits, tracer);
  const outside = createOutsideAsker(later.engine, judging, asker);
  const sagas = createSagaAdvancer({ ...later, watched: combiner.watched, outside });
  const emitter = createEmitter(host, combiner, asker);
  const paused = followPauses(engine, host);
  const reacting = { ...later, combiner, share, sagas, emitter, paused };
  const outbox = createOutboxRunner(reacting);
  const timers = createTimerRunner({ ...reacting, lanes: deliveries, outbox });
  const writer = createWriter(engine, host, specs, combiner, outbox, asker, options.isDirect);
  const audit = holdAnchors(createAudit({ ...later, share }), paused);
  const [feed, sql] = [createFeed(tools), createSql(tools, options.sql)];
  const erasure = createErasure({ ...later, share, memories: [cache, keeper] });
  const imports = createImports({ ...judging, watched: combiner.watched });
  const projections = createProjections({ ...tools, reader, share });
  const data: DataService = {
    writeEvents: writer.writeEvents,
    answerRecorded: writer.answerRecorded,
    readAggregate: reader.readAggregate,
    listAggregates: (tenant, request) => listAggregates({ ...tools, reader }, tenant, request),
    readError: errors.read,
    listErrors: errors.list,
    ...storedCalls(engine, specs, host, feed),
    ...reactionCalls({ ...reacting, engine, circuitOf: deliveries.circuitOf }),
    recordError: errors.record,
  };
  const queues = { rebuilder, keeper, errors, outbox, timers, deliveries, paused, share };
  const background = backgroundCalls({ engine, host, ...queues });
  const operations: OperationsService = {
    counters,
    measureStore: openStoreMeasures(engine, host),
    countLeases: share.count,
    measureArchive: options.measureArchive,
    ...modules.operations,
  };

  async function ping(): Promise<void> {
    const answer = engine.snapshot((tx) => tx.readVersion());
    if (await within(PING_MS_MAX, answer)) return;
    throw new StoreSilent(`The store has not answered for ${PING_MS_MAX} ms`);
  }

  async function close(): Promise<void> {
    // None of these succeeds while the store is unavailable; leases then expire by themselves.
    // Deliveries under way end before other processes take over their lanes.
    const released = deliveries.end().then(share.release);
    const running = [outbox, timers, errors, projections, rebuilder];
    const settled = running.map((each) => each.settle());
    const lastWrites = Promise.allSettled([...settled, released]);
    await Promise.all([
      specs.close(),
      paused.close(),
      erasure.close(),
      within(CLOSE_MS_MAX, lastWrites),
    ]);
    await Promise.all([modules.close(), compute.close(), sql.close()]);
  }

  const [backup, limiting] = [createBackups(reacting, options.backup), createLimits(tools)];
  const specCalls = createSpecService({ ...tools, ...runners }, webhooks);
  const calls = { data, specs: specCalls, access, imports, audit, erasure, projections, feed };
  const parts = traceParts({ ...calls, background, operations }, tracer);
  return { ...parts, backup, limits: limiting, sql, ping, failure: () => engine.failure(), close };
}

/** A restored deployment makes no anchor by itself: its events may not be those of the world. */
function holdAnchors(audit: AuditService, paused: PausedReactions): AuditService {
  return {
    ...audit,
    async makeDueAnchors(intervalMs, isStopping) {
      return await paused.isRestored() ? 0 : await audit.makeDueAnchors(intervalMs, isStopping);
    },
  };
}

function storedCalls(
  engine: Engine,
  specs: SpecCache,
  host: Host,
  { readTypes }: FeedService,
): Pick<DataService, "readLength" | "readEvents" | "findNearby" | "readTypes"> {
  return {
    readTypes,
    readLength: (tenant, aggregateType, id) =>
      readLength(engine, specs, tenant, { aggregateType, id }),
    readEvents: (tenant, request) => readEventPage({ engine, specs, turns: host }, tenant, request),
    findNearby: (tenant, request) => findNearby({ engine, specs, turns: host }, tenant, request),
  };
}

/** Named like any other outage, so that callers treat it as one. */
class StoreSilent extends Error {
  override readonly name = "EngineUnavailable";
}

/** Waits for `work` for at most `ms`; false if that was not enough. Rethrows a failure. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([work.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}
