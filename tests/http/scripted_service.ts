/** A Service that answers as a test scripts it and records its calls. */

import type { Service } from "../../src/features/service.ts";
import { type Host, systemHost } from "../../src/host.ts";
import type { AppOptions } from "../../src/http/call.ts";
import { createApp } from "../../src/http/app.ts";
import type { Environment, Tenant } from "../../src/domain/tenant.ts";

/** From a method name to its result; `{throws: name}` makes it throw an error of that name. */
export type Script = Readonly<Record<string, unknown>>;

export interface ScriptedService {
  readonly service: Service;
  /** `[method, ...arguments]` of each call, without those of authentication. */
  readonly calls: readonly (readonly unknown[])[];
}

export const INSTANCE = {
  id: "4bd5f3c6-8f4b-4bd3-9f0e-0b8a3f9c1d2e",
  slug: "shop",
  tier: "unlimited",
  created_at: "2026-01-01T00:00:00.000Z",
} as const;

export function tenantOf(environment: Environment): Tenant {
  return { instanceId: INSTANCE.id, environment, number: 7 };
}

/** The tokens that the scripted service knows. */
export const TOKENS = {
  read: "dbk_0_test_read",
  write: "dbk_0_test_write",
  elsewhere: "dbk_0_prod_write",
  operator: "aa.bb.cc",
  restricted: "aa.bb.restricted",
  viewer: "aa.bb.viewer",
} as const;

const AUTHENTICATION = [
  "authenticateKey",
  "authenticateOperator",
  "instanceOfKey",
  "resolveTenant",
];

export function scriptService(script: Script = {}): ScriptedService {
  const calls: unknown[][] = [];
  const defaults: Record<string, (...given: never[]) => unknown> = {
    authenticateKey: (token: string, environment: Environment, slug?: string) =>
      Promise.resolve(holderOf(token, environment, slug)),
    authenticateOperator,
    instanceOfKey: () => undefined,
    resolveTenant: (_operator: unknown, _id: string, environment: Environment) => ({
      ok: true,
      value: tenantOf(environment),
    }),
    recordError: () => "err_1",
    ping: () => undefined,
    answerRecorded: () => undefined,
  };
  const half = new Proxy({}, {
    get: (_target, method: string) => (...given: never[]) => {
      if (!AUTHENTICATION.includes(method)) calls.push([method, ...given]);
      const scripted = script[method];
      if (scripted === undefined) {
        const known = defaults[method];
        if (known === undefined) throw new Error(`${method} is not scripted`);
        return known(...given);
      }
      const thrown = (scripted as { throws?: string }).throws;
      if (thrown !== undefined) {
        return Promise.reject(Object.assign(new Error("secret /etc/path"), { name: thrown }));
      }
      return Promise.resolve(scripted);
    },
  });
  const { ping } = half as Service;
  const failure = () => undefined;
  return { service: { data: half, specs: half, access: half, ping, failure } as Service, calls };
}

function holderOf(token: string, environment: Environment, slug?: string) {
  if (token !== TOKENS.read && token !== TOKENS.write && token !== TOKENS.elsewhere) {
    return refused("unauthorized", "Unknown or revoked API key");
  }
  if (token === TOKENS.elsewhere) return refused("forbidden", "This key is of production");
  if (slug !== undefined && slug !== INSTANCE.slug) {
    return refused("forbidden", "This key is of another instance");
  }
  const scope = token === TOKENS.read ? "read" : "write";
  const tenant = tenantOf(environment);
  return { ok: true, value: { keyId: "key_1", instance: INSTANCE, tenant, scope } };
}

function authenticateOperator(token: string) {
  if (token === TOKENS.viewer) return refused("forbidden", "Token has not the role operator");
  if (token === TOKENS.operator) return { ok: true, value: { subject: "ada" } };
  if (token === TOKENS.restricted) {
    return { ok: true, value: { subject: "bob", instances: [INSTANCE.id] } };
  }
  return refused("unauthorized", "Invalid operator token");
}

function refused(kind: string, message: string) {
  return { ok: false, refusal: { kind, message } };
}

/** A host whose random bytes are all zero and whose log is kept. */
export function quietHost(): Host & { readonly lines: unknown[][] } {
  const lines: unknown[][] = [];
  return {
    ...systemHost(),
    nowMs: () => 1_800_000_000_000,
    randomBytes: (length) => new Uint8Array(length),
    log: (...line) => void lines.push(line),
    lines,
  };
}

export const TEST_LISTENER: AppOptions = {
  headerPrefix: "SVC",
  environment: { kind: "listener", environment: "test" },
  clientAddress: (peer) => peer,
};

/** An app over a scripted service, with its calls and its log. */
export function scriptApp(script: Script = {}, options: AppOptions = TEST_LISTENER) {
  const { service, calls } = scriptService(script);
  const host = quietHost();
  const app = createApp(service, host, options);
  return { app, calls, log: host.lines };
}
