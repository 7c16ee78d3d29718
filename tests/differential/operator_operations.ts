/**
 * What operators do in a trace: deploys, keys, instances, tiers, accounts; and their mistakes.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import type { Operation, RequestOperation, Sent } from "./operation.ts";
import { pickPlace, type Place, request, type TraceModel } from "./trace_model.ts";
import { incompatibleSpec, invalidSpec, specVersion } from "./trace_spec.ts";

type Sending = Pick<Sent, "method" | "path"> & Partial<Sent>;

export function asOperator(
  model: TraceModel,
  name: string,
  sending: Sending,
  more: Partial<RequestOperation> = {},
): RequestOperation {
  return request(model, name, { as: "operator", environment: "test", ...sending }, more);
}

function specPath({ slug }: Place): string {
  return `/api/instances/{{${slug}_id}}/spec`;
}

interface DeployedSpec {
  readonly spec: JsonValue;
  readonly more?: JsonObject;
}

function deploy(
  model: TraceModel,
  name: string,
  place: Place,
  { spec, more = {} }: DeployedSpec,
): Operation {
  const json = { environment: place.environment, spec, ...more };
  return asOperator(model, name, { method: "POST", path: specPath(place), json });
}

/** Deploys the next version, the same again, a dry run, one that is refused, or a forced one. */
export function deploySpec(model: TraceModel): Operation[] {
  const place = pickPlace(model);
  const version = place.specVersion;
  const { hasExtra } = place;
  switch (model.turn(DEPLOYS)) {
    case "next":
      place.specVersion++;
      return [deploy(model, "deploy_next", place, { spec: specVersion(version + 1, hasExtra) })];
    case "same":
      return [deploy(model, "deploy_same", place, { spec: specVersion(version, hasExtra) })];
    case "dry":
      return [
        deploy(model, "deploy_dry", place, {
          spec: specVersion(version + 1, hasExtra),
          more: { dry_run: true },
        }),
      ];
    case "incompatible": {
      const spec = incompatibleSpec(version, model.writes);
      return [deploy(model, "deploy_incompatible", place, { spec })];
    }
    case "invalid": {
      const spec = invalidSpec(version, model.writes);
      return [deploy(model, "deploy_invalid", place, { spec })];
    }
    case "forced":
      return forceDeploy(model, version);
    case "oversized": {
      const spec = { ...specVersion(version), description: { $text: 1_048_576 } };
      return [deploy(model, "deploy_oversized", place, { spec })];
    }
  }
}

const DEPLOYS = ["next", "same", "incompatible", "dry", "invalid", "forced", "oversized"] as const;

/** In staging a type may come and go again; in production nothing may be forced. */
function forceDeploy(model: TraceModel, version: number): Operation[] {
  const [production, staging] = model.places as readonly [Place, Place];
  staging.hasExtra = !staging.hasExtra;
  const spec = specVersion(staging.specVersion, staging.hasExtra);
  return [
    deploy(model, "deploy_forced", staging, { spec, more: { force: true } }),
    deploy(model, "deploy_forbidden", production, {
      spec: specVersion(version),
      more: { force: true },
    }),
  ];
}

/** Reads of operators and their mistakes; in turn. */
const OPERATOR_ROWS: readonly Sending[] = [
  { method: "GET", path: "/api/instances" },
  { method: "GET", path: "/api/instances?limit=1" },
  { method: "GET", path: "/api/instances?limit=0" },
  { method: "GET", path: "/api/instances", as: "operator_of_bakery" },
  { method: "GET", path: "/api/instances", as: "none" },
  { method: "GET", path: "/api/instances", as: "operator_expired" },
  { method: "GET", path: "/api/instances", as: "operator_without_role" },
  { method: "GET", path: "/api/instances", as: "operator_forged" },
  { method: "GET", path: "/api/instances", as: { header: "Bearer {{shop_test_write}}" } },
  { method: "GET", path: "/api/instances/{{shop_id}}" },
  { method: "GET", path: "/api/instances/{{shop_id}}", host: "api" },
  { method: "GET", path: "/api/instances/{{shop_id}}", as: "operator_of_bakery" },
  { method: "GET", path: "/api/instances/{{bakery_id}}", as: "operator_of_bakery" },
  { method: "GET", path: "/api/instances/nobody" },
  { method: "GET", path: "/api/instances/{{shop_id}}/spec" },
  { method: "GET", path: "/api/instances/{{shop_id}}/spec?environment=prod" },
  { method: "GET", path: "/api/instances/{{shop_id}}/spec?environment=moon" },
  { method: "GET", path: "/api/instances/{{bakery_id}}/spec?environment=production" },
  { method: "GET", path: "/api/instances/{{shop_id}}/specs" },
  { method: "GET", path: "/api/instances/{{shop_id}}/specs?limit=2&start=000000000001" },
  { method: "GET", path: "/api/instances/{{shop_id}}/keys" },
  { method: "GET", path: "/api/instances/{{shop_id}}/keys?environment=staging&limit=1" },
  { method: "POST", path: "/api/instances", json: { slug: "shop" } },
  { method: "POST", path: "/api/instances", json: { slug: "A shop" } },
  { method: "POST", path: "/api/instances", json: { slug: "a-test" } },
  { method: "POST", path: "/api/instances", json: { slug: "tiered", tier: "gold" } },
  { method: "POST", path: "/api/instances", json: { slug: "other" }, as: "operator_of_bakery" },
  { method: "POST", path: "/api/instances", json: { slug: 7 } },
  { method: "POST", path: "/api/instances", json: {} },
  { method: "POST", path: "/api/instances", text: "{" },
  { method: "POST", path: "/api/instances/{{shop_id}}/keys", json: { name: "", scope: "read" } },
  { method: "POST", path: "/api/instances/{{shop_id}}/keys", json: { name: "a", scope: "all" } },
  { method: "POST", path: "/api/instances/{{shop_id}}/keys", json: { name: "a", more: 1 } },
  {
    method: "POST",
    path: "/api/instances/{{shop_id}}/keys?environment=test",
    json: { name: "a", scope: "read", environment: "staging" },
  },
  { method: "POST", path: "/api/instances/{{shop_id}}/spec", json: {} },
  { method: "POST", path: "/api/instances/{{shop_id}}/spec", json: { spec: [] } },
  { method: "POST", path: "/api/instances/{{shop_id}}/spec", json: { spec: {}, force: "yes" } },
  { method: "PATCH", path: "/api/instances/{{shop_id}}", json: { tier: "pro" } },
  { method: "PATCH", path: "/api/instances/{{shop_id}}", json: { tier: "unlimited" } },
  { method: "PATCH", path: "/api/instances/{{shop_id}}", json: { tier: "gold" } },
  { method: "PATCH", path: "/api/instances/nobody", json: { tier: "free" } },
  { method: "DELETE", path: "/api/instances/{{shop_id}}" },
  { method: "DELETE", path: "/api/keys/nothing" },
  { method: "POST", path: "/api/keys/nothing/rotate" },
  { method: "POST", path: "/api/keys/nothing/rotate", json: { more: 1 } },
  { method: "POST", path: "/api/keys/a/schedule_revocation", json: { revoke_at: "tomorrow" } },
  {
    method: "POST",
    path: "/api/keys/a/schedule_revocation",
    json: { revoke_at: "2020-01-01T00:00:00Z" },
  },
  {
    method: "POST",
    path: "/api/keys/a/schedule_revocation",
    json: { revoke_at: "2090-01-01T00:00:00Z" },
  },
  { method: "POST", path: "/api/login", json: { email: "nobody", password: "a" }, as: "none" },
  { method: "POST", path: "/api/users", json: { email: "a@example.com", password: "short" } },
  { method: "POST", path: "/api/users", json: { email: "nobody", password: "a long password" } },
];

export function operate(model: TraceModel): Operation {
  return asOperator(model, "operator_call", model.turn(OPERATOR_ROWS));
}

const INSTANCES_MAX = 60;

/** A new instance, unless there are already too many to be listed. */
export function createInstance(model: TraceModel): Operation {
  if (model.instances >= INSTANCES_MAX) return operate(model);
  const slug = `stall-${model.instances++}`;
  const json: JsonObject = model.random.chance(0.5) ? { slug } : { slug, tier: "hobby" };
  return asOperator(model, "create_instance", { method: "POST", path: "/api/instances", json });
}

/** The start of every trace: two instances, with specs and keys in four places. */
export function openTrace(model: TraceModel): Operation[] {
  const creations = ["shop", "bakery"].map((slug) =>
    asOperator(
      model,
      "create_instance",
      { method: "POST", path: "/api/instances", json: { slug } },
      {
        save: { [`${slug}_id`]: "id" },
      },
    )
  );
  const keys = model.places.flatMap(({ name, slug, environment }) =>
    ["read", "write"].map((scope) =>
      asOperator(model, "issue_key", {
        method: "POST",
        path: `/api/instances/{{${slug}_id}}/keys`,
        json: { name: scope, scope, environment },
      }, { save: { [`${name}_${scope}`]: "key" } })
    )
  );
  const empty = request(model, "odd_read", {
    environment: "test",
    as: { header: "Bearer {{shop_test_read}}" },
    method: "GET",
    path: "/note/main",
  });
  const deploys = model.places.map((place) =>
    deploy(model, "deploy_next", place, { spec: specVersion(0) })
  );
  return [...creations, ...keys, empty, ...deploys];
}

const PASSWORD = "correct horse battery";

/** An account, its login, and ten wrong logins in a minute. Each takes a quarter of a second. */
export function accounts(model: TraceModel): Operation[] {
  const email = "ops@example.com";
  const user = { email, password: PASSWORD };
  const adding = () =>
    asOperator(model, "add_user", { method: "POST", path: "/api/users", json: user });
  const login = (password: string, advanceMs: number) =>
    asOperator(model, "log_in", {
      method: "POST",
      path: "/api/login",
      as: "none",
      json: { email, password },
    }, { advanceMs });
  const wrong = Array.from({ length: 10 }, () => login("wrong horse battery", 10));
  return [
    adding(),
    adding(),
    login(PASSWORD, 0),
    ...wrong,
    login(PASSWORD, 10),
    login(PASSWORD, 61_000),
  ];
}
