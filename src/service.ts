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
import type { ErrorRecord } from "./domain/error_record.ts";
import type { JsonObject } from "./domain/json.ts";
import type {
  AggregatePage,
  AggregateView,
  EventPage,
  ListAggregatesRequest,
  ReadAggregateRequest,
  ReadEventsRequest,
} from "./domain/reading.ts";
import type { DeployedSpec, DeploySpecRequest, SpecVersion } from "./domain/spec/deployment.ts";
import type { Outcome } from "./domain/refusal.ts";
import type { Environment, Tenant } from "./domain/tenant.ts";
import type { WriteRequest, Written } from "./domain/write.ts";

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
