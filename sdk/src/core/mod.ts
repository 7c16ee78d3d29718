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
  HandlerForm,
  Json,
  Operation,
  SchemaForm,
  SchemaKeywords,
  SpecForm,
  Template,
} from "./spec_form.ts";
export type * from "./answers.ts";
export type {
  AggregateHandle,
  EventCall,
  EventsOptions,
  GetOptions,
  HandleCalls,
  PlannedEvent,
  UpdateOptions,
  WriteOptions,
} from "./handle.ts";
export type {
  FeedCaughtUp,
  FeedErased,
  FeedEvent,
  FeedFilter,
  FeedItem,
  FeedOptions,
  FeedPageOptions,
  FeedTypes,
  LiveOptions,
  LiveState,
  TailItem,
  TailOptions,
} from "./live_calls.ts";
export type { FollowOptions } from "./follow.ts";
export type { Listed, ListOptions, NearOptions, TypeCalls } from "./type_calls.ts";
export type {
  AtomicTarget,
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
