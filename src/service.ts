/**
 * Service: every command and query, bound to one engine and one host. All that `http/` and
 * `workers/` see of the product. Refusals come back as values; what is thrown is a bug or an
 * outage.
 */

import type {
  ApiKeyView,
  Instance,
  IssuedApiKey,
  KeyHolder,
  Operator,
  Scope,
} from "./domain/access.ts";
import { count, type Counters, newCounters } from "./domain/counters.ts";
import type { ErrorPage, ErrorRecord } from "./domain/error_record.ts";
import type { JsonObject } from "./domain/json.ts";
import type {
  AggregatePage,
  AggregateView,
  EventPage,
  ListAggregatesRequest,
  ReadAggregateRequest,
  ReadEventsRequest,
} from "./domain/reading.ts";
import type { QueueMeasure } from "./domain/queue_measure.ts";
import type { StoreMeasure } from "./domain/store_measure.ts";
import type { SagaPage, SagaView } from "./domain/saga/view.ts";
import type { ScheduledPage, ScheduledView } from "./domain/scheduled.ts";
import type { DeployedSpec, DeploySpecRequest, SpecVersion } from "./domain/spec/deployment.ts";
import type { DeliveryPage, ListenerPage, Replayed } from "./domain/listener/view.ts";
import type { WebhookSettings } from "./domain/listener/sender.ts";
import { limits } from "./domain/limits.ts";
import type { Outcome } from "./domain/refusal.ts";
import type { Environment, Tenant } from "./domain/tenant.ts";
import type { BlobVersion } from "./domain/wasm/blob.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "./domain/write.ts";
import { type AuditService, createAudit } from "./audit.ts";
import type { Host } from "./host.ts";
import type { Bytes, Engine } from "./kv/engine.ts";
import { createModuleAsker } from "./commands/ask_modules.ts";
import { createOutsideAsker } from "./commands/ask_outside.ts";
import { createSagaAdvancer } from "./commands/advance_sagas.ts";
import { cancelSchedule } from "./commands/cancel_schedule.ts";
import { createCombiner } from "./commands/combine.ts";
import {
  createDeliveryRunner,
  type DeliveryRunner,
  NO_DELIVERIES,
} from "./commands/deliver_events.ts";
import { deploySpec } from "./commands/deploy_spec.ts";
import { createTimerRunner } from "./commands/fire_schedule.ts";
import { createJudge } from "./commands/judge_writes.ts";
import { createSnapshotKeeper } from "./commands/keep_snapshots.ts";
import { createRebuilder } from "./commands/rebuild_snapshots.ts";
import { openErrorRecords } from "./commands/record_error.ts";
import { replayDeliveries, type ReplayRequest } from "./commands/replay_deliveries.ts";
import { createOutboxRunner } from "./commands/run_implications.ts";
import { ownAllWork, shareWork } from "./commands/share_work.ts";
import { createSweeper } from "./commands/sweep.ts";
import { uploadBlob, type UploadParts } from "./commands/upload_blob.ts";
import { createEmitter } from "./commands/write_emission.ts";
import { createWriter } from "./commands/write_events.ts";
import { followOutbox } from "./queries/follow_outbox.ts";
import { listAggregates } from "./queries/list_aggregates.ts";
import { listDeliveries, type ListDeliveriesRequest } from "./queries/list_deliveries.ts";
import { type BlobPage, listBlobs } from "./queries/list_blobs.ts";
import { listErrors } from "./queries/list_errors.ts";
import { listListeners } from "./queries/list_listeners.ts";
import { listSagas, type ListSagasRequest } from "./queries/list_sagas.ts";
import { listSchedules, readScheduled } from "./queries/list_schedules.ts";
import { measureQueues } from "./queries/measure_queues.ts";
import { openStoreMeasures } from "./queries/measure_store.ts";
import { createAggregateReader } from "./queries/read_aggregate.ts";
import { readEventPage } from "./queries/read_events.ts";
import { readLength } from "./queries/read_length.ts";
import { readSaga } from "./queries/read_saga.ts";
import { listSpecs, readSpec } from "./queries/read_spec.ts";
import { type ModuleOperations, type ModuleSettings, openModules } from "./queries/run_modules.ts";
import { openStateCache } from "./queries/state_cache.ts";
import { openSpecCache, type SpecCache } from "./queries/current_spec.ts";

export interface DataService {
  writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>>;
  /** What the ledger answers to a keyed body that is no write; undefined when it knows nothing. */
  answerRecorded(
    tenant: Tenant,
    claim: IdempotencyClaim,
  ): Promise<Outcome<Written> | undefined>;
  readAggregate(tenant: Tenant, request: ReadAggregateRequest): Promise<Outcome<AggregateView>>;
  readLength(tenant: Tenant, aggregateType: string, id: string): Promise<Outcome<number>>;
  readEvents(tenant: Tenant, request: ReadEventsRequest): Promise<Outcome<EventPage>>;
  listAggregates(tenant: Tenant, request: ListAggregatesRequest): Promise<Outcome<AggregatePage>>;
  readError(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>>;
  listErrors(tenant: Tenant, page: PageRequest): Promise<Outcome<ErrorPage>>;
  /** Scheduled events that have neither fired nor been cancelled. */
  listScheduled(tenant: Tenant, page: PageRequest): Promise<Outcome<ScheduledPage>>;
  readScheduled(tenant: Tenant, id: string): Promise<Outcome<ScheduledView>>;
  cancelScheduled(tenant: Tenant, id: string): Promise<Outcome<void>>;
  listSagas(tenant: Tenant, request: ListSagasRequest): Promise<Outcome<SagaPage>>;
  readSaga(tenant: Tenant, id: string): Promise<Outcome<SagaView>>;
  /** The listeners of the current spec, without their secrets. */
  listListeners(tenant: Tenant, page: PageRequest): Promise<ListenerPage>;
  listDeliveries(tenant: Tenant, request: ListDeliveriesRequest): Promise<Outcome<DeliveryPage>>;
  /** Puts deliveries that are over back into their lanes. */
  replayDeliveries(tenant: Tenant, request: ReplayRequest): Promise<Outcome<Replayed>>;
  /**
   * Keeps a 5xx for a day, in memory while the store is away; gives the `err_` id. Never throws.
   * `tenant` is undefined where the caller is not known yet: such a record is only logged.
   */
  recordError(
    tenant: Tenant | undefined,
    error: Omit<ErrorRecord, "error_id" | "occurred_at">,
  ): string;
}

/** Which part of a list is asked for. */
export interface PageRequest {
  readonly limit?: number;
  readonly start?: string;
}

export interface SpecService {
  deploySpec(tenant: Tenant, request: DeploySpecRequest): Promise<Outcome<DeployedSpec>>;
  /** The current document with its version, or a `not_found` refusal. */
  readSpec(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>>;
  listSpecs(tenant: Tenant): Promise<Outcome<readonly SpecVersion[]>>;
  /** Keeps a WebAssembly module as the next version of the blob `name`. */
  uploadBlob(tenant: Tenant, name: string, file: Bytes): Promise<Outcome<BlobVersion>>;
  listBlobs(tenant: Tenant, page: PageRequest): Promise<Outcome<BlobPage>>;
}

export interface AccessService {
  /** 401 unknown or revoked; 403 other environment, or other instance than `slug` names. */
  authenticateKey(
    token: string,
    environment: Environment,
    slug?: string,
  ): Promise<Outcome<KeyHolder>>;
  /** 401 malformed, expired, wrong signature; 403 wrong role. */
  authenticateOperator(token: string): Promise<Outcome<Operator>>;
  login(email: string, password: string): Promise<Outcome<{ token: string; expires_at: string }>>;
  addUser(email: string, password: string): Promise<Outcome<{ email: string }>>;
  createInstance(slug: string, tier: string): Promise<Outcome<Instance>>;
  listInstances(operator: Operator): Promise<readonly Instance[]>;
  /** 403 where the token does not name the instance, 404 where there is none. */
  readInstance(operator: Operator, id: string): Promise<Outcome<Instance>>;
  /** The only instance when `id` is undefined and there is just one. */
  resolveTenant(
    operator: Operator,
    id: string | undefined,
    environment: Environment,
  ): Promise<Outcome<Tenant>>;
  changeTier(operator: Operator, id: string, tier: string): Promise<Outcome<Instance>>;
  listApiKeys(tenant: Tenant): Promise<readonly ApiKeyView[]>;
  issueApiKey(tenant: Tenant, name: string, scope: Scope): Promise<Outcome<IssuedApiKey>>;
  rotateApiKey(operator: Operator, keyId: string): Promise<Outcome<IssuedApiKey>>;
  /** `revokeAt`: ISO 8601 UTC as sent. */
  scheduleRevocation(
    operator: Operator,
    keyId: string,
    revokeAt: string,
  ): Promise<Outcome<ApiKeyView>>;
  revokeApiKey(operator: Operator, keyId: string): Promise<Outcome<void>>;
}

/** What workers drive. Each gives how much it found to do. */
export interface BackgroundService {
  /** May take long, and so ends early once `isStopping` says so. */
  rebuildSnapshots(limit: number, isStopping?: () => boolean): Promise<number>;
  sweep(limit: number): Promise<number>;
  /**
   * Saves what nobody else can: folded states and error records that only the memory of this
   * process has. For every process that answers requests.
   */
  saveMemory(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Does what written events have set off, where it is due; goes round with each call. */
  drainOutbox(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when a write has left such work to others; ends with the result. */
  followOutbox(wake: () => void): () => Promise<void>;
  /** Fires scheduled events and ends the waits of sagas. */
  drainTimers(limit: number, isStopping?: () => boolean): Promise<number>;
  /** Delivers events to listeners: begins with what is due; the rest goes on by itself. */
  drainDeliveries(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when there may be something to deliver; ends with the result. */
  followDeliveries(wake: () => void): () => Promise<void>;
  /** Resolves when no delivery is under way. */
  deliveriesIdle(): Promise<void>;
  /** How long the next call of `drainTimers` may wait. */
  timerPauseMs(): number;
  /** How much waits in the queues of the whole deployment. */
  measureQueues(): Promise<readonly QueueMeasure[]>;
  /** Keeps this process's share of the work that processes share; gives 0. */
  renewShare(): Promise<number>;
}

/** What operators watch. */
export interface OperationsService extends ModuleOperations {
  /** What this process has counted. */
  readonly counters: Counters;
  /** The store and its queues, at most a second old. Within two seconds; never throws. */
  measureStore(): Promise<StoreMeasure>;
  /** Shards of background work that are this process's now, by queue. */
  countLeases(): ReadonlyMap<string, number>;
}

export interface Service {
  readonly data: DataService;
  readonly specs: SpecService;
  readonly access: AccessService;
  readonly audit: AuditService;
  readonly background: BackgroundService;
  readonly operations: OperationsService;
  /** Resolves when the store answers a read; rejects when it does not. For `/health/ready`. */
  ping(): Promise<void>;
  /** Lets go of watches and waits for what is still being written; the engine stays open. */
  close(): Promise<void>;
}

export interface ServiceOptions {
  /** Several processes may have this store: background work is shared by leases. */
  readonly isStoreShared?: boolean;
  /** What is counted elsewhere too: by the engine's meter, by the loop of workers. */
  readonly counters?: Counters;
  /** False: all that is implied goes through the outbox. For tests of it; true if absent. */
  readonly isDirect?: boolean;
  /** How this process sends deliveries. Left out: it sends none, and leaves them to others. */
  readonly webhooks?: WebhookSettings;
  /** How modules are run. */
  readonly wasm?: ModuleSettings;
}

const WASM_DEFAULTS = { runners: 3, stackKilobytes: limits.wasmStackKilobytesDefault };

/** A store that is there answers sooner; see `EngineUnavailable`. */
const PING_MS_MAX = 4_500;
/** At the end of the process, for giving leases back and writing what is being written. */
const CLOSE_MS_MAX = 2_000;

/** `createAccess` is handed in ready, for its secrets come from outside the store. */
export function createService(
  engine: Engine,
  host: Host,
  access: AccessService,
  options: ServiceOptions = {},
): Service {
  const { isStoreShared = false, counters = newCounters(), webhooks } = options;
  const specs = openSpecCache(engine, host);
  const keeper = createSnapshotKeeper(engine, host, specs);
  const states = openStateCache();
  const modules = openModules(engine, host, counters, options.wasm ?? WASM_DEFAULTS);
  const reader = createAggregateReader(engine, host, specs, states, keeper.add, modules, counters);
  const errors = openErrorRecords(engine, host, counters);
  const share = isStoreShared ? shareWork(engine, host) : ownAllWork();
  const rebuilder = createRebuilder({ engine, host, modules }, specs, share);
  const deliveries = webhooks === undefined
    ? NO_DELIVERIES
    : createDeliveryRunner({ engine, host, specs, share, counters, ...webhooks });
  const asker = createModuleAsker(host, modules);
  const judging = { engine, host, modules, reader };
  const combiner = createJudge(judging, createCombiner(engine, host, counters, deliveries));
  const outside = createOutsideAsker(engine, judging, asker);
  const sagas = createSagaAdvancer(engine, host, specs, combiner.watched, outside, counters);
  const emitter = createEmitter(host, combiner, asker);
  const working = { engine, host, specs, combiner, share, sagas, emitter, lanes: deliveries };
  const outbox = createOutboxRunner(working);
  const timers = createTimerRunner({ ...working, outbox });
  const writer = createWriter(engine, host, specs, combiner, outbox, asker, options.isDirect);

  const audit = createAudit({ engine, host, specs, share, isStoreShared });

  const data: DataService = {
    writeEvents: writer.writeEvents,
    answerRecorded: writer.answerRecorded,
    readAggregate: reader.readAggregate,
    listAggregates: (tenant, request) =>
      listAggregates({ engine, host, specs, reader }, tenant, request),
    readError: errors.read,
    listErrors: (tenant, page) => listErrors(errors.list, tenant, page),
    ...eventCalls(engine, specs),
    ...reactionCalls(engine),
    ...listenerCalls(engine, host, specs, deliveries),
    recordError: errors.record,
  };
  const specService = createSpecService({ engine, host, specs, modules, counters }, webhooks);
  const background: BackgroundService = {
    rebuildSnapshots: (limit, isStopping = () => false) => rebuilder.rebuild(limit, isStopping),
    sweep: createSweeper(engine, host, share).sweep,
    async saveMemory(limit, isStopping = () => false) {
      const saved = await errors.saveWaiting(limit);
      return saved + await keeper.drain(limit, isStopping);
    },
    drainOutbox: (limit, isStopping = () => false) => outbox.drain(limit, isStopping),
    followOutbox: (wake) => followOutbox(engine, host, wake),
    drainTimers: (limit, isStopping = () => false) => timers.drain(limit, isStopping),
    drainDeliveries: (isStopping = () => false) => deliveries.drain(isStopping),
    followDeliveries: deliveries.follow,
    deliveriesIdle: deliveries.idle,
    timerPauseMs: timers.pauseMs,
    measureQueues: () => measureQueues(engine, host),
    async renewShare() {
      await share.renew();
      return 0;
    },
  };

  const operations: OperationsService = {
    counters,
    measureStore: openStoreMeasures(engine, host),
    countLeases: share.count,
    ...modules.operations,
  };

  async function ping(): Promise<void> {
    const answer = engine.snapshot((tx) => tx.readVersion());
    if (await within(PING_MS_MAX, answer)) return;
    throw new StoreSilent(`The store has not answered for ${PING_MS_MAX} ms`);
  }

  async function close(): Promise<void> {
    // With the store away none of these can be done: leases end by themselves.
    // What is being sent ends before others take the lanes over.
    const released = deliveries.end().then(share.release);
    const lastWrites = Promise.allSettled([outbox.settle(), errors.settle(), released]);
    await Promise.all([specs.close(), within(CLOSE_MS_MAX, lastWrites)]);
    await modules.close();
  }

  return { data, specs: specService, access, audit, background, operations, ping, close };
}

function createSpecService(
  parts: UploadParts & { readonly counters: Counters },
  webhooks: WebhookSettings | undefined,
): SpecService {
  const { engine, host, specs, counters } = parts;
  return {
    async deploySpec(tenant, request) {
      const { allowPrivate } = webhooks ?? {};
      const outcome = await deploySpec(engine, host, specs, tenant, request, allowPrivate);
      if (!request.dryRun) count(counters.specDeploys, outcome.ok ? "accepted" : "refused");
      return outcome;
    },
    readSpec: (tenant) => readSpec(engine, tenant),
    listSpecs: (tenant) => listSpecs(engine, tenant),
    uploadBlob: (tenant, name, file) => uploadBlob(parts, tenant, name, file),
    listBlobs: (tenant, page) => listBlobs(engine, tenant, page),
  };
}

function eventCalls(
  engine: Engine,
  specs: SpecCache,
): Pick<DataService, "readLength" | "readEvents"> {
  return {
    readLength: (tenant, aggregateType, id) => readLength(engine, specs, tenant, aggregateType, id),
    readEvents: (tenant, request) => readEventPage(engine, specs, tenant, request),
  };
}

function reactionCalls(
  engine: Engine,
): Pick<
  DataService,
  "listScheduled" | "readScheduled" | "cancelScheduled" | "listSagas" | "readSaga"
> {
  return {
    listScheduled: (tenant, page) => listSchedules(engine, tenant, page),
    readScheduled: (tenant, id) => readScheduled(engine, tenant, id),
    cancelScheduled: (tenant, id) => cancelSchedule(engine, tenant, id),
    listSagas: (tenant, request) => listSagas(engine, tenant, request),
    readSaga: (tenant, id) => readSaga(engine, tenant, id),
  };
}

function listenerCalls(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  { circuitOf }: DeliveryRunner,
): Pick<DataService, "listListeners" | "listDeliveries" | "replayDeliveries"> {
  const tools = { engine, host, specs, circuitOf };
  return {
    listListeners: (tenant, page) => listListeners(tools, tenant, page),
    listDeliveries: (tenant, request) => listDeliveries(engine, specs, tenant, request),
    replayDeliveries: (tenant, request) => replayDeliveries(engine, host, specs, tenant, request),
  };
}

/** By its name an outage like any other. */
class StoreSilent extends Error {
  override readonly name = "EngineUnavailable";
}

/** Waits for `work`, at most so long: false when that was not enough. A failure is thrown. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<false>((resolve) => timer = setTimeout(() => resolve(false), ms));
  try {
    return await Promise.race([work.then(() => true), over]);
  } finally {
    clearTimeout(timer);
  }
}
