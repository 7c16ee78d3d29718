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
  Tier,
} from "./domain/access.ts";
import type { JsonObject } from "./domain/json.ts";
import type { Outcome, Violation } from "./domain/refusal.ts";
import type { Environment, Tenant } from "./domain/tenant.ts";
import type { WriteRequest, Written } from "./domain/write.ts";

/** A folded aggregate. `dataJson` is the state as JSON text, ready to be put into a body. */
export interface AggregateView {
  readonly dataJson: string;
  readonly length: number;
  /** Unix seconds; null for a singleton without events. */
  readonly createdAt: number | null;
  readonly updatedAt: number | null;
}

export interface ReadAggregateRequest {
  readonly aggregateType: string;
  /** As sent. */
  readonly id: string;
  /** Bypass every cache and snapshot. */
  readonly synchronous: boolean;
  /** EXT: the state as of this Unix second. */
  readonly atSeconds?: number;
}

export interface ReadEventsRequest {
  readonly aggregateType: string;
  readonly id: string;
  /** Exclusive cursor as sent. */
  readonly start?: string;
  /** As asked for, at least 1; clamped by the query to `limits.eventsPageMax`. */
  readonly count?: number;
  readonly direction: "forwards" | "backwards";
}

export interface ListedEvent {
  readonly id: string;
  readonly hash: string;
  /** The stored bytes as text. */
  readonly raw: string;
}

/** Always oldest first. Spec: events listing, rules 1 to 5. */
export interface EventPage {
  readonly entries: readonly ListedEvent[];
  readonly countLimit: number;
  readonly countClamped: boolean;
  readonly truncated: boolean;
  readonly truncatedBy?: "count" | "bytes";
  readonly nextStart?: string;
}

export interface ListAggregatesRequest {
  readonly aggregateType: string;
  readonly resolve: boolean;
  readonly synchronous: boolean;
  /** As asked for, at least 1; clamped by the query to `limits.listPageMax`. */
  readonly limit?: number;
  /** Exclusive byte-wise cursor. */
  readonly start?: string;
}

export type ListedAggregate =
  | { readonly id: string }
  | { readonly id: string; readonly view: AggregateView }
  | { readonly id: string; readonly error: "fold_budget_exceeded" };

export interface AggregatePage {
  readonly entries: readonly ListedAggregate[];
  readonly limit: number;
  readonly limitClamped: boolean;
  readonly truncated: boolean;
  readonly nextStart?: string;
}

/** Spec: "Error record (diagnostic)". */
export interface ErrorRecord {
  readonly error_id: string;
  readonly error_type: string;
  readonly message: string;
  readonly context: JsonObject;
  readonly request_id: string;
  readonly occurred_at: string;
}

export interface DeploySpecRequest {
  /** The inner `spec` object as sent. */
  readonly spec: unknown;
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface DeployedSpec {
  readonly spec_hash: string;
  /** 1 for the first deployed spec of an environment. */
  readonly version: number;
  /** What differs from the current spec, one line each; empty when nothing does. */
  readonly changes: readonly string[];
  readonly warnings: readonly Violation[];
}

export interface SpecVersion {
  readonly version: number;
  readonly spec_hash: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

export interface DataService {
  writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>>;
  readAggregate(tenant: Tenant, request: ReadAggregateRequest): Promise<Outcome<AggregateView>>;
  readLength(tenant: Tenant, aggregateType: string, id: string): Promise<Outcome<number>>;
  readEvents(tenant: Tenant, request: ReadEventsRequest): Promise<Outcome<EventPage>>;
  listAggregates(tenant: Tenant, request: ListAggregatesRequest): Promise<Outcome<AggregatePage>>;
  readError(tenant: Tenant, errorId: string): Promise<Outcome<ErrorRecord>>;
  /**
   * Keeps a 5xx for a day, in memory while the store is away; gives the `err_` id. Never throws.
   * `tenant` is undefined where the caller is not known yet: such a record is only logged.
   */
  recordError(
    tenant: Tenant | undefined,
    error: Omit<ErrorRecord, "error_id" | "occurred_at">,
  ): string;
}

export interface SpecService {
  deploySpec(tenant: Tenant, request: DeploySpecRequest): Promise<Outcome<DeployedSpec>>;
  /** The current document with its version, or a `not_found` refusal. */
  readSpec(tenant: Tenant): Promise<Outcome<SpecVersion & { readonly spec: JsonObject }>>;
  listSpecs(tenant: Tenant): Promise<Outcome<readonly SpecVersion[]>>;
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

export interface Service {
  readonly data: DataService;
  readonly specs: SpecService;
  readonly access: AccessService;
  /** Resolves when the store answers a read; rejects when it does not. For `/health/ready`. */
  ping(): Promise<void>;
}

export type { Tier };
