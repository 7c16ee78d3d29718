/** What `@daybook/client` exports: the client, its types and its errors. */

export type { AggregateTypes, AnyTypes, ClientTypes } from "./client_types.ts";
export { type AggregateType, type Client, type ClientOptions, createClient } from "./client.ts";
export {
  type Call,
  DaybookError,
  type ErrorType,
  type Refusal,
  type RefusalBase,
  type RefusalFields,
} from "./refusal.ts";
export { defineSpec, type TypesOf } from "./define_spec.ts";
export type {
  AggregateForm,
  EventForm,
  GuardForm,
  HandlerForm,
  Json,
  Operation,
  SchemaForm,
  SchemaKeywords,
  SpecForm,
  Template,
} from "./spec_form.ts";
export type {
  EventEntry,
  EventMetadata,
  FeedPage,
  NearbyAnswer,
  NewEvent,
  Page,
  Party,
  StateAnswer,
  StoredEvent,
  Written,
  WrittenAtomic,
  WrittenBatch,
} from "./answers.ts";
export type {
  Anchor,
  Attestation,
  Delivery,
  Effects,
  ErrorRecord,
  EventEffects,
  Listener,
  ProjectionRow,
  Saga,
  Scheduled,
  SqlAnswer,
  TypeCount,
} from "./wide_answers.ts";
export type {
  AggregateHandle,
  EventCall,
  EventsOptions,
  GetOptions,
  HandleCalls,
  PlannedEvent,
  Precondition,
  UpdateOptions,
  WriteOptions,
} from "./handle.ts";
export type { AtomicTarget } from "./atomic.ts";
export type {
  FeedEvent,
  FeedItem,
  FeedOptions,
  FeedPageOptions,
  LiveOptions,
  LiveState,
  TailItem,
  TailOptions,
} from "./live_calls.ts";
export type { FollowOptions } from "./follow.ts";
export type { ListOptions, NearOptions, TypeCalls } from "./type_calls.ts";
export type {
  CsvAnswer,
  CsvOptions,
  ListPageOptions,
  Lists,
  ProjectionCalls,
  RowsOptions,
  SqlParams,
  WideCalls,
} from "./wide_calls.ts";
export type { Ask, CallOptions, Query, TransportOptions } from "./transport.ts";
export type { Decide, Decision } from "./update.ts";
export type { World } from "./world.ts";
