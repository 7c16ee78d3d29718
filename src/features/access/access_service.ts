/** Everything about instances, API keys and operators, bound to one engine and one host. */

import {
  changeTier,
  createInstance,
  holdForReading,
  resolveTenant,
  showInstance,
  showInstances,
} from "./instances.ts";
import { passwordHasher } from "./hash_password.ts";
import {
  issueApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  scheduleRevocation,
} from "./api_keys.ts";
import { addUser, login, type LoginRequest } from "./log_in.ts";
import { createLoginGate } from "./login_gate.ts";
import type {
  ApiKeyView,
  Holder,
  Instance,
  IssuedApiKey,
  KeyHolder,
  Operator,
  Scope,
} from "../../domain/access/access.ts";
import type { ListPage } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Environment, Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { keyAuthenticator } from "./authenticate_key.ts";
import { operatorAuthenticator, type TokenKeys } from "./operator_token.ts";

export interface AccessService {
  /**
   * 401 if unknown or revoked; 403 for another environment, or another instance than `slug`
   * names.
   */
  authenticateKey(
    token: string,
    environment: Environment,
    slug?: string,
  ): Promise<Outcome<KeyHolder>>;
  /** The instance of a key that was valid lately, without a look into the store. */
  instanceOfKey(token: string): string | undefined;
  /** 401 if malformed, expired or wrongly signed; 403 for a wrong role. */
  authenticateOperator(token: string): Promise<Outcome<Operator>>;
  /** The same, for the data of the instance `id`: 403 also if the token does not cover it. */
  authenticateReader(token: string, id: string, place: ReadPlace): Promise<Outcome<Holder>>;
  login(request: LoginRequest): Promise<Outcome<{ token: string; expires_at: string }>>;
  addUser(email: string, password: string): Promise<Outcome<{ email: string }>>;
  createInstance(slug: string, tier: string): Promise<Outcome<Instance>>;
  listInstances(operator: Operator, page?: PageRequest): Promise<Outcome<ListPage<Instance>>>;
  /** 403 if the token does not cover the instance; 404 if the instance does not exist. */
  readInstance(operator: Operator, id: string): Promise<Outcome<Instance>>;
  /** With `id` undefined: the only instance, if there is exactly one. */
  resolveTenant(
    operator: Operator,
    id: string | undefined,
    environment: Environment,
  ): Promise<Outcome<Tenant>>;
  changeTier(id: string, tier: string): Promise<Outcome<Instance>>;
  /** At most `limit`, after the key with the id `start`. */
  listApiKeys(
    tenant: Tenant,
    page?: { readonly limit?: number; readonly start?: string },
  ): Promise<readonly ApiKeyView[]>;
  issueApiKey(tenant: Tenant, name: string, scope: Scope): Promise<Outcome<IssuedApiKey>>;
  rotateApiKey(operator: Operator, keyId: string): Promise<Outcome<IssuedApiKey>>;
  /** `revokeAt` is ISO 8601 in UTC, as sent. */
  scheduleRevocation(
    operator: Operator,
    keyId: string,
    revokeAt: string,
  ): Promise<Outcome<ApiKeyView>>;
  revokeApiKey(operator: Operator, keyId: string): Promise<Outcome<void>>;
}

/** The address at which data is asked for. */
export interface ReadPlace {
  readonly environment: Environment;
  /** The instance that the host name names, if it names one. */
  readonly slug?: string;
}

/** `close` ends the watch on the store; await it before the engine closes. */
export type Access = AccessService & { close(): Promise<void> };

export function createAccess(engine: Engine, host: Host, options: TokenKeys): Access {
  const keyHolders = keyAuthenticator(engine, host);
  const operators = operatorAuthenticator(host, options);
  const { jwtSecret } = options;
  const accounts = { engine, host, hasher: passwordHasher(), gate: createLoginGate(), jwtSecret };

  /** Forgets even if the change failed: it may have been committed although its reply was lost. */
  async function thenForget<T>(change: Promise<Outcome<T>>): Promise<Outcome<T>> {
    try {
      return await change;
    } finally {
      keyHolders.forget();
    }
  }

  return {
    authenticateKey: keyHolders.authenticate,
    instanceOfKey: keyHolders.instanceOf,
    authenticateOperator: operators.authenticate,
    async authenticateReader(token, id, place) {
      const operator = await operators.authenticate(token);
      return operator.ok ? await holdForReading(engine, operator.value, id, place) : operator;
    },
    login: (request) => login(accounts, request),
    addUser: (email, password) => addUser(accounts, email, password),
    createInstance: (slug, tier) => createInstance(engine, host, slug, tier),
    listInstances: (operator, page) => showInstances(engine, operator, page),
    readInstance: (operator, id) => showInstance(engine, operator, id),
    resolveTenant: (operator, id, environment) => resolveTenant(engine, operator, id, environment),
    changeTier: (id, tier) => thenForget(changeTier(engine, id, tier)),
    listApiKeys: (tenant, page) => listApiKeys(engine, tenant, page),
    issueApiKey: (tenant, name, scope) => issueApiKey(engine, host, tenant, { name, scope }),
    rotateApiKey: (operator, keyId) => thenForget(rotateApiKey(engine, host, operator, keyId)),
    scheduleRevocation: (operator, keyId, revokeAt) =>
      thenForget(scheduleRevocation(engine, host, operator, { keyId, revokeAt })),
    revokeApiKey: (operator, keyId) => thenForget(revokeApiKey(engine, operator, keyId)),
    close: keyHolders.close,
  };
}
