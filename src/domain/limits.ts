/** Every number of the contract's Limits section, and ours beside it. The unit is the last word. */

const KiB = 1024;
const MiB = 1024 * KiB;
const HOUR_S = 3600;

export const limits = {
  /** One event's `data` as JSON text. Spec: "Event data size". */
  eventDataBytesMax: 100 * KiB,
  /** Spec: "Events per batch request"; also all events of one atomic write together. */
  batchEventsMax: 10_000,
  /** Spec: "Spec size". */
  specBytesMax: 1_000_000,
  /** Spec: "Targets per atomic write". */
  atomicTargetsMax: 10,
  /** Spec: "Events page size". */
  eventsPageDefault: 500,
  eventsPageMax: 5_000,
  pageBytesMax: 4 * MiB,
  /** Spec: "Aggregate list page size". Every extended list of ours uses the same two. */
  listPageDefault: 50,
  listPageMax: 200,
  /** Spec: "Synchronous read / rebuild budget". */
  foldBytesMax: 32 * MiB,
  /** A folded state as JSON text, and how deep it may nest. */
  stateBytesMax: 32 * MiB,
  stateDepthMax: 1_000,
  /** Spec: "Idempotency key". */
  idempotencyKeyCharactersMax: 255,
  idempotencyRetentionSeconds: 24 * HOUR_S,
  /** Spec: "Error record retention". */
  errorRecordRetentionSeconds: 24 * HOUR_S,
  /** A write request's body, and what one write may store: it must fit one transaction. */
  requestBodyBytesMax: 8 * MiB,
  writeStoredBytesMax: 8_000_000,
  /** Steps of checking event data against schemas: for a write, and more for each byte of data. */
  validationStepsMax: 2_000_000,
  validationStepsPerByte: 2,
  /** From the headers of a request to the last byte of its body. */
  requestBodySecondsMax: 30,
  /** Nesting of a request's JSON. */
  jsonDepthMax: 64,
  /** Fault descriptions (`details`, `violations`) listed in one answer. */
  schemaDetailsMax: 10,
  violationsMax: 100,
  /** Operator tokens may end at most this far ahead. */
  tokenLifetimeSecondsMax: 24 * HOUR_S,
  /** Failed logins of one account within a minute before it is locked for that minute. */
  failedLoginsPerMinuteMax: 10,
} as const;
