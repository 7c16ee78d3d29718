/**
 * All limits of the service: those that the API documents and internal ones. Each name carries
 * its unit. See docs/reference/limits.md.
 */

const KiB = 1024;
const MiB = 1024 * KiB;
const HOUR_S = 3600;
const DAY_MS = 24 * HOUR_S * 1000;

export const limits = {
  /** One event's `data` as JSON text. */
  eventDataBytesMax: 100 * KiB,
  /** Events of one batch, and of all targets of one atomic write together. */
  batchEventsMax: 10_000,
  /** A spec document, and aggregate types in it: a deploy may set off a rebuild of each. */
  specBytesMax: 1_048_576,
  aggregateTypesMax: 2_000,
  /**
   * Trying a spec on stored data: its time; the events that are tried, and their bytes; the
   * aggregates that are folded, and the bytes of each; the states that are compared. Examples: how
   * many of a type, and their length.
   */
  dataCheckMsMax: 8_000,
  dataCheckEventsMax: 200_000,
  dataCheckBytesMax: 128 * MiB,
  dataCheckFoldsMax: 2_000,
  dataCheckStreamBytesMax: MiB,
  dataCheckStateCharactersMax: 256 * KiB,
  dataCheckExamplesMax: 5,
  dataCheckExampleCharactersMax: 2_000,
  atomicTargetsMax: 10,
  /** Pages of events: events per page, and bytes per page. */
  eventsPageDefault: 500,
  eventsPageMax: 5_000,
  pageBytesMax: 4 * MiB,
  /** Pages of the feed: entries per page. Names in `types`. */
  feedPageDefault: 100,
  feedPageMax: 1_000,
  feedTypesMax: 100,
  /** Types on a page of `GET /_types`. */
  typesPageMax: 1_000,
  /** How long a read of the feed waits for the first event. */
  feedWaitSecondsDefault: 20,
  feedWaitSecondsMax: 30,
  /** Bytes of live answers and waiting reads: of one process, and of one instance among them. */
  liveAnswersBytesMax: 384 * MiB,
  liveAnswersBytesPerInstanceMax: 256 * MiB,
  /** Frames of live answers that their clients have not taken. One owner may hold a quarter. */
  liveBytesMax: 64 * MiB,
  /** What one live answer sends at a time; a quarter of it while there is little room. */
  liveChunkEntriesMax: 400,
  liveChunkBytesMax: 256 * KiB,
  /** A live answer ends after this long, or up to a tenth earlier; its client goes on anew. */
  liveSecondsMax: 300,
  /** Pages of every list other than events. */
  listPageDefault: 50,
  listPageMax: 200,
  /** Radius of a `nearby` search. See docs/reference/geo.md. */
  nearbyRadiusMetresMin: 1,
  nearbyRadiusMetresMax: 100_000,
  nearbyRadiusMetresDefault: 1_000,
  /** Bytes of events that one read may fold. */
  foldBytesMax: 32 * MiB,
  /** A folded state as JSON text, and how deep it may nest. */
  stateBytesMax: 32 * MiB,
  stateDepthMax: 1_000,
  /**
   * How long one computation in a separate process may run; how many computations of one
   * instance may wait for such a process, and how long each of them waits.
   */
  computeMsMax: 5_000,
  computeWaitingPerInstanceMax: 256,
  computeWaitMsMax: 10_000,
  /** Idempotency keys: their length, and how long a key's answer is kept. */
  idempotencyKeyCharactersMax: 255,
  idempotencyRetentionSeconds: 24 * HOUR_S,
  errorRecordRetentionSeconds: 24 * HOUR_S,
  /**
   * The body of a write request, and what one write may store: it must fit into one
   * transaction.
   */
  requestBodyBytesMax: 8 * MiB,
  writeStoredBytesMax: 8_000_000,
  /**
   * What checking event data against its schema may cost, in the units of `budget.ts`. A write
   * starts with the first amount, and each character of event data adds the second.
   */
  validationUnitsMax: 5_000_000,
  validationUnitsPerByte: 64,
  /** Values in one `enum` or `const` of a deployed schema, nested values included. */
  allowedValuesMax: 10_000,
  /**
   * From the headers of a request to the last byte of its body. An import may take this long
   * for each piece of its file.
   */
  requestBodySecondsMax: 30,
  /** A body that is read without credentials, such as that of a login. */
  openBodyBytesMax: 4 * KiB,
  /** Bodies of operator calls that have no limit of their own. */
  operatorBodyBytesMax: 64 * KiB,
  /** Requests that deploy a spec or a projection, white space included. */
  specBodyBytesMax: 4 * MiB,
  projectionBodyBytesMax: 256 * KiB,
  /**
   * Bodies that one process holds while it reads or handles them. One owner, such as an
   * instance, may hold a quarter.
   */
  bodiesBytesMax: 96 * MiB,
  /** Answers that one process holds until their clients take them. One owner may hold a quarter. */
  answersBytesMax: 192 * MiB,
  /** A client that takes nothing of a long answer for this long is cut off. */
  answerStallSecondsMax: 30,
  /** The OpenAPI document of a spec. What would exceed this is left out. */
  openApiCharactersMax: 4 * MiB,
  /** OpenAPI documents that one process caches, together. */
  openApiKeptCharactersMax: 16 * MiB,
  /** Nesting of a request's JSON. */
  jsonDepthMax: 64,
  /** Values in a body, counting arrays and objects twice; keys of one object, items of one list. */
  jsonNodesMax: 1_500_000,
  jsonObjectKeysMax: 20_000,
  jsonListItemsMax: 100_000,
  /** A string including its escapes, and a number, as the body spells them. */
  jsonStringCharactersMax: 1 * MiB,
  jsonNumberCharactersMax: 1_024,
  /** Faults (`details`, `violations`) that one answer lists. */
  schemaDetailsMax: 10,
  violationsMax: 100,
  /**
   * Entries in the `implications` of one event type, steps of one pipeline, rules in one
   * `cancel_on`.
   */
  implicationEntriesMax: 100,
  pipelineStepsMax: 20,
  cancelRulesMax: 20,
  /**
   * Concurrent writes that take longer than one time slice to check or prepare. One instance
   * alone may have half of them.
   */
  heavyWritesMax: 8,
  /** Implied and scheduled events of one write, over all its events. */
  implicationActionsMax: 10_000,
  /**
   * Guards of one event type, other aggregates that those of one write may look at, and the
   * characters of a message.
   */
  guardsMax: 20,
  guardOthersMax: 10,
  guardMessageCharactersMax: 500,
  /** Preconditions of one write, and the JSON text of one predicate among them. */
  preconditionsMax: 10,
  preconditionCharactersMax: 4_096,
  /** A state that guards and preconditions look at, as JSON text. */
  guardStateCharactersMax: 512 * KiB,
  /** What all of them may cost for one write; each predicate has to fit into one time slice. */
  guardUnitsMax: 32 * MiB,
  /** Depth of a chain of implied events. A client's event is at depth 0. */
  implicationDepthMax: 8,
  /**
   * Events that one write of a client may cause over all depths, and how long that count is
   * kept.
   */
  rootEventsMax: 10_000,
  rootRetentionSeconds: 24 * HOUR_S,
  /** Events per hour, in one environment, that self-rescheduling timers may cause. */
  recurringEventsPerHourMax: 100_000,
  /**
   * What one process holds of the outbox in memory: entries it has read, and emissions it has
   * prepared but not yet committed.
   */
  outboxHeldBytesMax: 32 * MiB,
  preparedEmissionBytesMax: 256 * KiB,
  /**
   * Error records that one write may leave about its failed implications: a client's write, and
   * a write of the service itself. The second is smaller, because one client write may cause
   * thousands of those.
   */
  implicationErrorsMax: 100,
  impliedErrorsMax: 2,
  /** How long a reply waits for the work that its write caused. */
  drainBeforeReplyMsMax: 250,
  /** Tries of one such piece of work, and the first and the longest pause between tries. */
  reactionTriesMax: 8,
  reactionRetryMsMin: 500,
  reactionRetryMsMax: 60_000,
  /**
   * Scheduled events that one transaction cancels one by one, and the bytes of those above 1 KiB.
   * Beyond that, a mark cancels all of a rule.
   */
  cancelledOneByOneMax: 500,
  cancelledOneByOneBytesMax: 512 * KiB,
  /**
   * Budget for computing the actions of one write, of one event in it, and of one template or
   * condition, which runs without yielding.
   */
  reactionWorkBytesMax: 128 * MiB,
  eventReactionWorkBytesMax: 16 * MiB,
  pieceReactionWorkBytesMax: 2 * MiB,
  /** Delay between scheduling an event and writing it. */
  scheduleDelayMsMin: 1_000,
  scheduleDelayMsMax: 366 * DAY_MS,
  /** How long an operator token may be valid. */
  tokenLifetimeSecondsMax: 24 * HOUR_S,
  /**
   * Sagas of one spec, steps of one saga, and event types that one step awaits, of both kinds. A
   * saga with all its events must fit into one transaction.
   */
  sagasMax: 200,
  sagaStepsMax: 50,
  sagaAwaitEventsMax: 100,
  /** Event types that sagas and `cancel_on` rules of an environment name, over all its specs. */
  watchedNamesMax: 10_000,
  /** How long a saga step waits for its event. See docs/reference/sagas.md. */
  sagaTimeoutMsDefault: 30_000,
  sagaTimeoutMsMax: 30 * 24 * HOUR_S * 1000,
  /** Tries of one compensation, and the first and the longest pause between tries. */
  sagaCompensationTriesMax: 8,
  sagaRetryMsMin: 1_000,
  sagaRetryMsMax: HOUR_S * 1000,
  /** Listeners of one spec, event patterns of one, and characters of a secret and of a URL. */
  listenersMax: 100,
  listenerEventsMax: 100,
  listenerSecretCharactersMin: 16,
  listenerSecretCharactersMax: 256,
  listenerUrlCharactersMax: 2_048,
  /** One try of a delivery, from the name look-up to the head of the answer. */
  deliveryTryMsMax: 15_000,
  /** How much of an answer's body is read and discarded. A longer body closes the connection. */
  deliveryAnswerBytesMax: 64 * KiB,
  /** Concurrent delivery tries of one listener; of the process: `deliveriesUnderWayMax`. */
  deliveriesPerListenerMax: 16,
  /** Concurrent name look-ups for listeners: of the whole process, and of one instance. */
  nameLookupsMax: 12,
  nameLookupsPerInstanceMax: 3,
  deliveriesUnderWayMax: 256,
  /** Delivery slots that are kept free for instances without a delivery under way. */
  deliveriesKeptForOthers: 64,
  /** Failures in a row after which an endpoint is left alone, and for how long. */
  circuitFailuresMax: 20,
  circuitPauseMs: 30_000,
  /** A delivery that has waited this long for an endpoint that is left alone is given up. */
  deliveryAgeMsMax: HOUR_S * 1000,
  /** Finished deliveries: how long they are kept, and how many of each listener. */
  deliveredRetentionSeconds: 24 * HOUR_S,
  deliveredKeptMax: 10_000,
  undeliveredRetentionSeconds: 30 * 24 * HOUR_S,
  undeliveredKeptMax: 100_000,
  /** Deliveries that one replay call puts back. */
  replayedAtOnceMax: 1_000,
  /** One uploaded WebAssembly module. */
  wasmModuleBytesMax: 4 * MiB,
  /** Memory of one module instance in pages of 64 KiB, so 64 MiB. See docs/reference/modules.md. */
  wasmMemoryPagesMax: 1_024,
  /** What one module call may return. */
  wasmOutputBytesMax: 8 * MiB,
  /** Time of one module call. See docs/reference/modules.md. */
  wasmTimeoutMsDefault: 100,
  wasmTimeoutMsMax: 5_000,
  /**
   * Total time that modules may take for one request: folding a state, judging a write,
   * implying events.
   */
  wasmRequestMsMax: 10_000,
  /** Traced calls kept for one environment, and how long tracing stays switched on. */
  wasmTracesMax: 500,
  wasmTraceMsMax: HOUR_S * 1000,
  /** How much of a module's own error text enters an error record. */
  errorTextCharactersMax: 200,
  /** Stack of a module call. See docs/reference/modules.md. */
  wasmStackKilobytesDefault: 64,
  /**
   * With less, a runner does not start; with more, one of its threads may fail to get its
   * stack.
   */
  wasmStackKilobytesMin: 48,
  wasmStackKilobytesMax: 512,
  /**
   * What instantiating a module costs, which nothing can interrupt: exported names, global
   * variables, segments, tables, and entries of all tables together.
   */
  wasmExportsMax: 1_000,
  wasmGlobalsMax: 10_000,
  wasmSegmentsMax: 10_000,
  wasmTablesMax: 16,
  wasmTableEntriesMax: 65_536,
  /**
   * What compiling a module costs: types, functions, bytes of one function, local variables of
   * all.
   */
  wasmTypesMax: 10_000,
  wasmFunctionsMax: 50_000,
  wasmFunctionBytesMax: 1 * MiB,
  wasmLocalsMax: 1_000_000,
  /** Memory of a process that runs modules, enforced by the operating system. */
  wasmProcessBytesMax: 240 * MiB,
  /** Memory of a process for folds, rows and checks, enforced by the operating system. */
  computeProcessBytesMax: 240 * MiB,
  /** A handler's `error` object as JSON text. It is bounded because the answer repeats it whole. */
  wasmErrorBytesMax: 16 * KiB,
  /** How long finished sagas are kept, and work that failed too often to be tried again. */
  sagaRetentionSeconds: 30 * 24 * HOUR_S,
  parkedRetentionSeconds: 30 * 24 * HOUR_S,
  /** How long it is known how scheduled events have ended. */
  scheduleHistorySeconds: 30 * 24 * HOUR_S,
  /** What one answer about the effects of an event looks at and holds. */
  effectsEventsMax: 1_000,
  effectsCharactersMax: MiB,
  /**
   * Hours from an erasure request to its execution. The minimum applies in production only. See
   * docs/reference/erasure.md.
   */
  erasureGraceHoursMin: 72,
  erasureGraceHoursMax: 366 * 24,
  erasureReasonCharactersMax: 1_000,
  /** One line of an import, including its line end, and a whole import file. */
  importLineBytesMax: 1 * MiB,
  importBytesMax: 64 * 1024 * MiB,
  /** Events of one `POST /_admin/import`, whose body is bounded like that of a write. */
  importEventsMax: 10_000,
  /** Each text in the `metadata.origin` of an imported event. */
  originTextCharactersMax: 1_024,
  /** Imports that one process runs at a time. */
  importsUnderWayMax: 4,
  /**
   * How much of its file a client must send for each `importWaitMsWindow` that the server waits
   * for it. The higher figure applies when another instance needs the place.
   */
  importBytesMin: 64 * KiB,
  importBytesBesideOthersMin: 1 * MiB,
  importWaitMsWindow: 10_000,
  /** About how much one transaction of an import stores, so that writes get in between. */
  importTransactionBytesMax: 1_000_000,
  /** How much a cold start holds in memory to sort by stream, and stores in one transaction. */
  coldStartWindowBytesMax: 12_000_000,
  coldStartTransactionBytesMax: 4_000_000,
  /** Projections of one environment, and the document of one projection. */
  projectionsMax: 100,
  projectionBytesMax: 32 * KiB,
  projectionSourcesMax: 20,
  projectionColumnsMax: 200,
  /** Aggregates that one row may show, and one row as JSON text. */
  rowSourcesMax: 1_000,
  rowBytesMax: 1 * MiB,
  /** States of all aggregates that one row shows, as JSON text together. Checked in characters. */
  rowSourcesBytesMax: 64 * MiB,
  /** Pauses between tries of a row that cannot be computed: the first and the longest. */
  rowRetryMsMin: 1_000,
  rowRetryMsMax: 5 * 60 * 1000,
  /** How long changes of projections are kept for nodes that hold copies of the rows. */
  rowChangesSeconds: HOUR_S,
  /** How long queries and exports wait for projections to catch up. */
  projectionWaitMsMax: 2_000,
  /** How long the first query that names a projection waits for its copy to be filled. */
  sqlFillWaitMsMax: 15_000,
  /**
   * SQL over projections: the statement, and what may come of it. See
   * docs/reference/projections.md.
   */
  sqlTextCharactersMax: 100_000,
  /** Parameters of a query, all their values together, and the whole request. */
  sqlParametersMax: 1_000,
  sqlParameterCharactersMax: 1_024 * KiB,
  sqlBodyBytesMax: 2 * MiB,
  sqlRowsMax: 10_000,
  sqlReplyBytesMax: 8 * MiB,
  sqlTimeoutMs: 5_000,
  /**
   * Memory of a process for SQL, and of the one that writes copies; enforced by the operating
   * system.
   */
  sqlProcessBytesMax: 240 * MiB,
  /** Memory of SQLite while a statement runs, and one value in it. */
  sqlMemoryBytesMax: 96 * MiB,
  sqlValueBytesMax: 8 * MiB,
  /** Disk space that a statement's temporary files, and copies of projections, must leave free. */
  sqlDiskFreeBytesMin: 1_024 * MiB,
  /** Concurrent queries of one instance, from their start to their answer. */
  sqlUnderWayPerInstanceMax: 80,
  /** Statements of one instance that wait for a process, and how long each of them waits. */
  sqlWaitingPerTenantMax: 64,
  sqlWaitMsMax: 2_000,
  /** Requests per minute from one IP address, a safety net above the limits of instances. */
  addressRequestsPerMinuteDefault: 30_000,
  /**
   * Failed logins within a minute before the next one is locked out: of one account from one
   * address; of one account from all addresses that its owner has not logged in from; and of
   * one address over all accounts.
   */
  failedLoginsPerMinuteMax: 10,
  failedLoginsOfAccountPerMinuteMax: 100,
  failedLoginsOfAddressPerMinuteMax: 60,
  /** Addresses that an account remembers, and for how long. */
  rememberedLoginAddressesMax: 16,
  rememberedLoginSeconds: 90 * 24 * HOUR_S,
} as const;
