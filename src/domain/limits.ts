/** Every number of the contract's Limits section, and ours beside it. The unit is the last word. */

const KiB = 1024;
const MiB = 1024 * KiB;
const HOUR_S = 3600;
const DAY_MS = 24 * HOUR_S * 1000;

export const limits = {
  /** One event's `data` as JSON text. Spec: "Event data size". */
  eventDataBytesMax: 100 * KiB,
  /** Spec: "Events per batch request"; also all events of one atomic write together. */
  batchEventsMax: 10_000,
  /** Spec: "Spec size". */
  specBytesMax: 1_048_576,
  /** Spec: "Targets per atomic write". */
  atomicTargetsMax: 10,
  /** Spec: "Events page size". */
  eventsPageDefault: 500,
  eventsPageMax: 5_000,
  pageBytesMax: 4 * MiB,
  /** Spec: "Aggregate list page size". Every extended list of ours uses the same two. */
  listPageDefault: 50,
  listPageMax: 200,
  /** How far `nearby` looks. Decided in "Geo". */
  nearbyRadiusMetresMin: 1,
  nearbyRadiusMetresMax: 100_000,
  nearbyRadiusMetresDefault: 1_000,
  /** Spec: "Synchronous read / rebuild budget". */
  foldBytesMax: 32 * MiB,
  /** A folded state as JSON text, and how deep it may nest. */
  stateBytesMax: 32 * MiB,
  stateDepthMax: 1_000,
  /**
   * One computation in a process of its own, how many of one instance wait for such a process, and
   * how long each does.
   */
  computeMsMax: 5_000,
  computeWaitingPerInstanceMax: 256,
  computeWaitMsMax: 10_000,
  /** Spec: "Idempotency key". */
  idempotencyKeyCharactersMax: 255,
  idempotencyRetentionSeconds: 24 * HOUR_S,
  /** Spec: "Error record retention". */
  errorRecordRetentionSeconds: 24 * HOUR_S,
  /** A write request's body, and what one write may store: it must fit one transaction. */
  requestBodyBytesMax: 8 * MiB,
  writeStoredBytesMax: 8_000_000,
  /**
   * What checking data against a schema may cost, in the coin of `budget.ts`: one event, and what
   * all events of a write may cost on top of it for each byte of their data.
   */
  validationUnitsMax: 5_000_000,
  validationUnitsPerByte: 64,
  /** Values of one `enum` or `const` of a deployed schema, with all that are within them. */
  allowedValuesMax: 10_000,
  /** From the headers of a request to the last byte of its body; an import: between its pieces. */
  requestBodySecondsMax: 30,
  /** A body that needs no key, such as that of a login. */
  openBodyBytesMax: 4 * KiB,
  /** Bodies of operator calls, but for those that have a limit of their own. */
  operatorBodyBytesMax: 64 * KiB,
  /** A request that deploys a spec, and one that deploys a projection, with their white space. */
  specBodyBytesMax: 4 * MiB,
  projectionBodyBytesMax: 256 * KiB,
  /** Bodies that are being read or worked on, in one process. An instance has a quarter. */
  bodiesBytesMax: 96 * MiB,
  /** Answers that their clients have not taken yet, in one process. An instance has a quarter. */
  answersBytesMax: 192 * MiB,
  /** A client that takes nothing of a long answer for so long is cut off. */
  answerStallSecondsMax: 30,
  /** The OpenAPI document of a spec; what would make it longer is left out of it. */
  openApiCharactersMax: 4 * MiB,
  /** Documents of that kind kept by a process, together. */
  openApiKeptCharactersMax: 16 * MiB,
  /** Nesting of a request's JSON. */
  jsonDepthMax: 64,
  /** Values of a body, arrays and objects counted twice; keys of one object. */
  jsonNodesMax: 1_500_000,
  jsonObjectKeysMax: 20_000,
  /** A string with its escapes, and a number, as a body spells them. */
  jsonStringCharactersMax: 1 * MiB,
  jsonNumberCharactersMax: 1_024,
  /** Fault descriptions (`details`, `violations`) listed in one answer. */
  schemaDetailsMax: 10,
  violationsMax: 100,
  /** Entries in the `implications` of one event type, steps of a pipeline, rules of `cancel_on`. */
  implicationEntriesMax: 100,
  pipelineStepsMax: 20,
  cancelRulesMax: 20,
  /** Writes under way that took longer than a piece to check or prepare. An instance has half. */
  heavyWritesMax: 8,
  /** What all events of one write may imply and schedule together. */
  implicationActionsMax: 10_000,
  /** Implied events that follow from each other: a client's event is at depth 0. */
  implicationDepthMax: 8,
  /** What one write of a client may set off over all depths, and how long that is counted. */
  rootEventsMax: 10_000,
  rootRetentionSeconds: 24 * HOUR_S,
  /** What timers that set themselves again may set off in one environment within an hour. */
  recurringEventsPerHourMax: 100_000,
  /** What events have set off: so much of it a process has in memory, read and prepared. */
  outboxHeldBytesMax: 32 * MiB,
  preparedEmissionBytesMax: 256 * KiB,
  /**
   * Error records that one write may leave about implications that came to nothing: a client's,
   * and one of the service itself, of which a client's may set off thousands.
   */
  implicationErrorsMax: 100,
  impliedErrorsMax: 2,
  /** A reply waits so long for what its write has set off. */
  drainBeforeReplyMsMax: 250,
  /** Tries of one piece of such work, and the pauses between them: the first, and the longest. */
  reactionTriesMax: 8,
  reactionRetryMsMin: 500,
  reactionRetryMsMax: 60_000,
  /** Scheduled events that one event cancels one by one; more are cancelled by a mark. */
  cancelledOneByOneMax: 500,
  /**
   * What computing the actions of one write may charge, of one event of it, and of one template or
   * condition, which is computed in one piece.
   */
  reactionWorkBytesMax: 128 * MiB,
  eventReactionWorkBytesMax: 16 * MiB,
  pieceReactionWorkBytesMax: 2 * MiB,
  /** From a schedule to its event. */
  scheduleDelayMsMin: 1_000,
  scheduleDelayMsMax: 366 * DAY_MS,
  /** Operator tokens may end at most this far ahead. */
  tokenLifetimeSecondsMax: 24 * HOUR_S,
  /** Sagas of one spec, and steps of one saga: a saga with all its events fits one transaction. */
  sagasMax: 200,
  sagaStepsMax: 50,
  /** How long a step waits for its event. Decided in "Sagas". */
  sagaTimeoutMsDefault: 30_000,
  sagaTimeoutMsMax: 30 * 24 * HOUR_S * 1000,
  /** Tries of one compensation, and the pauses between them: the first, and the longest. */
  sagaCompensationTriesMax: 8,
  sagaRetryMsMin: 1_000,
  sagaRetryMsMax: HOUR_S * 1000,
  /** Listeners of one spec, patterns of one, and the characters of a secret and of a URL. */
  listenersMax: 100,
  listenerEventsMax: 100,
  listenerSecretCharactersMin: 16,
  listenerSecretCharactersMax: 256,
  listenerUrlCharactersMax: 2_048,
  /** One try of a delivery, from looking up the name to the head of the answer. */
  deliveryTryMsMax: 15_000,
  /** Of the answer's body that much is read and thrown away; a longer one ends the connection. */
  deliveryAnswerBytesMax: 64 * KiB,
  /** Tries under way of one listener, and of a whole process. */
  deliveriesPerListenerMax: 16,
  /** Names of listeners that are looked up at a time: of all instances, and of one. */
  nameLookupsMax: 12,
  nameLookupsPerInstanceMax: 3,
  deliveriesUnderWayMax: 256,
  /** Of these, so many are for instances that have none under way. */
  deliveriesKeptForOthers: 64,
  /** Failures in a row after which an endpoint is left alone, and for how long. */
  circuitFailuresMax: 20,
  circuitPauseMs: 30_000,
  /** What has waited so long for an endpoint that is left alone is not tried any more. */
  deliveryAgeMsMax: HOUR_S * 1000,
  /** Deliveries that are over: how long, and how many of each listener, they are kept. */
  deliveredRetentionSeconds: 24 * HOUR_S,
  deliveredKeptMax: 10_000,
  undeliveredRetentionSeconds: 30 * 24 * HOUR_S,
  undeliveredKeptMax: 100_000,
  /** Deliveries that one call asks for again. */
  replayedAtOnceMax: 1_000,
  /** One uploaded WebAssembly module. Decided in "Operator API". */
  wasmModuleBytesMax: 4 * MiB,
  /** Memory of one instance, in pages of 64 KiB: 64 MiB. Decided in "WebAssembly". */
  wasmMemoryPagesMax: 1_024,
  /** What a call may return. Decided in "WebAssembly". */
  wasmOutputBytesMax: 8 * MiB,
  /** Spec: "WebAssembly handler timeout". */
  wasmTimeoutMsDefault: 100,
  wasmTimeoutMsMax: 5_000,
  /** What modules may take for one request: folding a state, judging a write, implying events. */
  wasmRequestMsMax: 10_000,
  /** Traced calls kept for one environment, and how long tracing stays on by itself. */
  wasmTracesMax: 500,
  wasmTraceMsMax: HOUR_S * 1000,
  /** Of what a module says in an error, so much enters an error record. */
  errorTextCharactersMax: 200,
  /** Spec: "WebAssembly stack". */
  wasmStackKilobytesDefault: 64,
  /** With less a runner does not start; with more a thread of it may not have it. */
  wasmStackKilobytesMin: 48,
  wasmStackKilobytesMax: 512,
  /**
   * What making an instance costs, which nothing can interrupt: names, variables, segments, and
   * entries of all tables together.
   */
  wasmExportsMax: 1_000,
  wasmGlobalsMax: 10_000,
  wasmSegmentsMax: 10_000,
  wasmTablesMax: 16,
  wasmTableEntriesMax: 65_536,
  /** What compiling a module costs: functions, the bytes of one, and local variables of all. */
  wasmTypesMax: 10_000,
  wasmFunctionsMax: 50_000,
  wasmFunctionBytesMax: 1 * MiB,
  wasmLocalsMax: 1_000_000,
  /** Memory of a process for modules; kept by the system. */
  wasmProcessBytesMax: 240 * MiB,
  /** Memory of a process for folds, rows and checks; kept by the system. */
  computeProcessBytesMax: 240 * MiB,
  /** A handler's `error` object as JSON text, for it goes into the answer whole. */
  wasmErrorBytesMax: 16 * KiB,
  /** How long a saga is kept that has ended, and what has failed too often to be tried again. */
  sagaRetentionSeconds: 30 * 24 * HOUR_S,
  parkedRetentionSeconds: 30 * 24 * HOUR_S,
  /** Erasure: from the request to its execution in production, and anywhere; decided there. */
  erasureGraceHoursMin: 72,
  erasureGraceHoursMax: 366 * 24,
  erasureReasonCharactersMax: 1_000,
  /** One line of an import, with its end; and the whole file of one. */
  importLineBytesMax: 1 * MiB,
  importBytesMax: 64 * 1024 * MiB,
  /** Events of one `POST /_admin/import`, whose body is bounded like that of a write. */
  importEventsMax: 10_000,
  /** Imports that one process runs at a time. */
  importsUnderWayMax: 4,
  /** What must come of a file while its client is waited for so long; more where others wait. */
  importBytesMin: 64 * KiB,
  importBytesBesideOthersMin: 1 * MiB,
  importWaitMsWindow: 10_000,
  /** What one transaction of an import stores, about: others write between them. */
  importTransactionBytesMax: 1_000_000,
  /** What a cold start has in memory, put in order by stream, and stores in one transaction. */
  coldStartWindowBytesMax: 12_000_000,
  coldStartTransactionBytesMax: 4_000_000,
  /** Projections of one environment, and one document of them. */
  projectionsMax: 100,
  projectionBytesMax: 32 * KiB,
  projectionSourcesMax: 20,
  projectionColumnsMax: 200,
  /** Aggregates that one row may show, and the row as JSON text. */
  rowSourcesMax: 1_000,
  rowBytesMax: 1 * MiB,
  /** States of all aggregates that one row shows, as JSON text together. */
  rowSourcesBytesMax: 64 * MiB,
  /** Tries of a row that cannot be computed: the first and the longest pause between them. */
  rowRetryMsMin: 1_000,
  rowRetryMsMax: 5 * 60 * 1000,
  /** How long changes of views are kept for nodes that have copies. */
  viewChangesSeconds: HOUR_S,
  /** Queries and exports wait so long for views to catch up. Decided in "Projections". */
  viewWaitMsMax: 2_000,
  /** A query that is the first to name a view waits so long until its copy is full. */
  sqlFillWaitMsMax: 15_000,
  /** SQL over views: the statement, and what may come of it. Decided in "Projections". */
  sqlTextCharactersMax: 100_000,
  /** Its parameters, their values together, and the request with all of it. */
  sqlParametersMax: 1_000,
  sqlParameterCharactersMax: 1_024 * KiB,
  sqlBodyBytesMax: 2 * MiB,
  sqlRowsMax: 10_000,
  sqlReplyBytesMax: 8 * MiB,
  sqlTimeoutMs: 5_000,
  /** Memory of a process for SQL, and of the one that writes copies; kept by the system. */
  sqlProcessBytesMax: 240 * MiB,
  /** Memory of SQLite while a statement runs, and one value in it. */
  sqlMemoryBytesMax: 96 * MiB,
  sqlValueBytesMax: 8 * MiB,
  /** What temporary files of a statement, and copies of views, must leave of their disk. */
  sqlDiskFreeBytesMin: 1_024 * MiB,
  /** Queries of one instance from their beginning to their answer. */
  sqlUnderWayPerInstanceMax: 80,
  /** Statements of one instance that wait for a process, and how long each does. */
  sqlWaitingPerTenantMax: 64,
  sqlWaitMsMax: 2_000,
  /** Spec: "A per-IP safety-net limit". */
  addressRequestsPerMinuteDefault: 30_000,
  /**
   * Failed logins within a minute before it is locked for that minute: of one account from one
   * address; of one account from all addresses from which its owner has not logged in before; from
   * one address, whichever account.
   */
  failedLoginsPerMinuteMax: 10,
  failedLoginsOfAccountPerMinuteMax: 100,
  failedLoginsOfAddressPerMinuteMax: 60,
  /** Addresses that an account remembers, and for how long. */
  rememberedLoginAddressesMax: 16,
  rememberedLoginSeconds: 90 * 24 * HOUR_S,
} as const;
