/**
 * The whole OpenAPI document against the whole product. A real request produces each documented
 * status of each route. Each answer matches its documented schema and has no undocumented
 * field. See docs/reference/monitoring.md.
 */

import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import { errorsOf } from "../../src/http/openapi/describe_route.ts";
import { openApiDocument } from "../../src/http/openapi/document.ts";
import { ERRORS } from "../../src/http/openapi/errors.ts";
import type { Operation } from "../../src/http/openapi/operation.ts";
import { INSTANCE_PARAMETER } from "../../src/http/middleware/authenticate.ts";
import { PATHS } from "../../src/http/paths.ts";
import type { Route } from "../../src/http/call.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { scriptedSender, webhookSettings } from "../support/listener_fixtures.ts";
import { type Ask, type Asked, REQUESTS } from "./openapi_requests.ts";
import { openApiSpec } from "./openapi_spec.ts";
import { type Answer, operatorClaims, signToken, withWorld, type World } from "./world.ts";

const DOCUMENT = openApiDocument(PATHS);
const ajv = new Ajv2020({ strict: false, validateSchema: false, allErrors: true });
// deno-lint-ignore no-explicit-any -- the package's types do not know how Deno imports it
(addFormats as any)(ajv);
ajv.addSchema(closed(DOCUMENT) as JsonObject, "document");

/** A copy in which every object that declares its fields is closed. */
function closed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(closed);
  if (!isJsonObject(value)) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]));
  const isOpen = isJsonObject(value.properties) && value.additionalProperties === undefined;
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

function schemaAt(pointer: readonly string[]) {
  const path = pointer.map((key) =>
    encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))
  );
  return ajv.getSchema(`document#/${path.join("/")}`);
}

/** Fails unless `value` matches the schema at `pointer` of the document. */
function hold(pointer: readonly string[], value: unknown, what: string): void {
  const validate = schemaAt(pointer);
  assert.ok(validate, `no schema at ${pointer.join(" / ")}`);
  const isRight = validate(value);
  assert.ok(isRight, `${what}: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`);
}

interface Case {
  readonly name: string;
  readonly method: string;
  readonly pattern: string;
  readonly access: Route["access"];
  readonly operation: Operation;
}

const CASES: readonly Case[] = PATHS.flatMap(({ pattern, methods }) =>
  [...methods].flatMap(([method, { access, operation }]) => {
    const name = `${method} ${pattern}`;
    return operation.isPage ? [] : [{ name, method, pattern, access, operation }];
  })
);

/** The state of the store behind the service in these worlds. */
interface Weather {
  now: "fine" | "internal" | "store_away";
}

function weatheredEngine(inner: Engine, weather: Weather): Engine {
  function check(): void {
    if (weather.now === "fine") return;
    const name = weather.now === "store_away" ? "EngineUnavailable" : "TypeError";
    throw Object.assign(new Error(weather.now), { name });
  }
  return wrapEngine(inner, {
    async transact(body) {
      check();
      return await inner.transact(body);
    },
    async snapshot(body) {
      check();
      return await inner.snapshot(body);
    },
    backup() {
      check();
      return inner.backup();
    },
  });
}

/**
 * The route's success with one thing wrong that all such routes refuse; undefined if there is
 * none.
 */
function derivedRequest({ access, operation, name }: Case, status: number): Ask | undefined {
  const success = REQUESTS[name]?.[Math.min(...Object.keys(operation.answers).map(Number))];
  if (success === undefined) return undefined;
  const bodyForm = operation.body && (operation.bodyForm ?? "json");
  switch (status) {
    case 400:
      return bodyForm === undefined
        ? async (world) => withBadQuery(await success(world), operation)
        : async (world) => {
          const [path, , options] = await success(world);
          return [path, "{}", { ...options, headers: { "content-type": "text/plain" } }];
        };
    case 401:
      return changed(success, () => ({ token: null }));
    case 403:
      return changed(success, ({ keys }) => ({
        token: access === "operator"
          ? signToken(operatorClaims({ role: "viewer" }))
          : keys.production.write,
      }));
    case 404:
      return INSTANCE_PARAMETER in (operation.query ?? {}) && access !== "operator"
        ? ofNoInstance(success)
        : undefined;
    case 408:
      return bodyForm && replaced(success, () => new ReadableStream());
    case 413:
      return bodyForm && replaced(success, () => new Uint8Array(limits.requestBodyBytesMax + 1));
    case 429:
      return (world) => askTooOften(world, success);
    case 500:
    case 503:
      return success;
  }
}

/** An operator's read of an instance that does not exist. */
function ofNoInstance(success: Ask): Ask {
  return async (world) => {
    const [path, body, options] = await success(world);
    const named = `${INSTANCE_PARAMETER}=00000000-0000-4000-8000-000000000000`;
    const whole = `${path}${path.includes("?") ? "&" : "?"}${named}`;
    return [whole, body, { ...options, token: world.operator }];
  };
}

/** In these worlds an address may ask once, unless its key belongs to an unlimited instance. */
async function askTooOften(world: World, success: Ask): Promise<Asked> {
  const peer = "192.0.2.1";
  const [instance, tier] = [`/api/instances/${world.instanceId}`, "free"];
  assert.equal((await world.send("PATCH", instance, { body: { tier } })).status, 200);
  const [path, body, options] = await success(world);
  await world.send("GET", instance, { peer });
  return [path, body, { ...options, peer }];
}

function changed(ask: Ask, change: (world: World) => Asked[2]): Ask {
  return async (world) => {
    const [path, body, options] = await ask(world);
    return [path, body, { ...options, ...change(world) }];
  };
}

function replaced(ask: Ask, body: () => unknown): Ask {
  return async (world) => {
    const [path, , options] = await ask(world);
    return [path, body(), options];
  };
}

/** A query that the route refuses: a parameter of its own with a wrong value, or an unknown one. */
function withBadQuery([path, body, options]: Asked, { query = {} }: Operation): Asked {
  const [name = "no_such_parameter"] =
    Object.entries(query).find(([, { schema: { type, enum: values } }]) =>
      type !== "string" || values !== undefined
    ) ?? [];
  return [`${path.split("?")[0]}?${name}=none`, body, options];
}

function statusesOf({ access, operation }: Case): number[] {
  const refused = [...errorsOf(access, operation)].map((name) => ERRORS[name].status);
  return [...new Set([...Object.keys(operation.answers).map(Number), ...refused])].sort();
}

async function produce(one: Case, status: number, world: World, weather: Weather): Promise<Answer> {
  const ask = REQUESTS[one.name]?.[status] ?? derivedRequest(one, status);
  assert.ok(ask, `openapi_requests.ts has no request for ${one.name} ${status}`);
  const [path, body, options] = await ask(world);
  if (status in one.operation.answers) checkRequest(one, path, body);
  if (status === 500) weather.now = "internal";
  if (status === 503) weather.now = "store_away";
  try {
    return await world.send(one.method, path, { body, ...options });
  } finally {
    weather.now = "fine";
  }
}

/** A request that succeeds must be one that the document allows. */
function checkRequest({ method, pattern, operation }: Case, path: string, body: unknown): void {
  const declared = Object.keys(operation.query ?? {});
  for (const name of new URL(path, "http://localhost").searchParams.keys()) {
    assert.ok(declared.includes(name), `${name} is no documented parameter`);
  }
  if (body === undefined || operation.bodyForm === "multipart") return;
  const place = ["paths", pattern, method.toLowerCase(), "requestBody", "content"];
  if (operation.bodyForm !== "json lines") {
    return hold([...place, "application/json", "schema"], body, "the request");
  }
  for (const line of String(body).trim().split("\n")) {
    hold([...place, "application/x-ndjson", "schema"], JSON.parse(line), "a line");
  }
}

function checkAnswer({ method, pattern }: Case, status: number, answer: Answer): void {
  const { headers, text, body } = answer;
  assert.equal(answer.status, status, text);
  const place = ["paths", pattern, method.toLowerCase(), "responses", String(status), "content"];
  if (status === 204) {
    assert.equal(schemaAt(place), undefined, "the document shows no body");
    assert.ok(schemaAt(place.slice(0, -1)), "but the answer");
    return assert.equal(text, "");
  }
  const type = headers.get("content-type")!.split(";")[0]!;
  hold([...place, type, "schema"], type === "application/json" ? body : text, "the answer");
}

/** A client that stops sending is given up after this time instead of half a minute. */
function shortenBodyTime(): () => void {
  const settings = limits as { requestBodySecondsMax: number };
  const before = settings.requestBodySecondsMax;
  settings.requestBodySecondsMax = 0.1;
  return () => settings.requestBodySecondsMax = before;
}

async function checkStatuses(one: Case, statuses: readonly number[]): Promise<void> {
  const weather: Weather = { now: "fine" };
  const restore = shortenBodyTime();
  try {
    await withWorld(async (world) => {
      for (const status of statuses) {
        checkAnswer(one, status, await produce(one, status, world, weather));
      }
    }, {
      spec: openApiSpec,
      wrap: (engine) => weatheredEngine(engine, weather),
      ipLimit: 1,
      webhooks: () => webhookSettings(scriptedSender()),
    });
  } finally {
    restore();
  }
}

for (const one of CASES) {
  Deno.test(`${one.name} answers each documented status as it is documented`, async (test) => {
    const [own, derived] = [new Array<number>(), new Array<number>()];
    for (const status of statusesOf(one)) {
      // Runs in its own world too, because it leaves the instance with limits.
      const isOwn = status === 429 || REQUESTS[one.name]?.[status] !== undefined;
      (isOwn ? own : derived).push(status);
    }
    for (const status of own) await test.step(`${status}`, () => checkStatuses(one, [status]));
    const steps = derived.join(", ") || "no more";
    await test.step(steps, () => checkStatuses(one, derived));
  });
}

Deno.test("no request is kept for a route or a status that is not documented", () => {
  for (const [name, producers] of Object.entries(REQUESTS)) {
    const one = CASES.find((each) => each.name === name);
    assert.ok(one, `${name} is no route`);
    for (const status of Object.keys(producers)) {
      assert.ok(statusesOf(one).includes(Number(status)), `${name} ${status}`);
    }
  }
});

Deno.test("without a key the document is generic, with one it has the types of the deployed spec", () =>
  withWorld(async ({ send, keys }) => {
    const plain = await send("GET", "/openapi.json", { token: null });
    assert.deepEqual(plain.body, DOCUMENT);
    const { body } = await send("GET", "/openapi.json", { token: keys.test.read });
    assert.ok("/order/{id}/was_noted" in body.paths);
    assert.ok(!("/{type}/{id}" in body.paths));
    assert.equal(body.info["x-spec-version"], 1);
  }, { spec: openApiSpec }));

Deno.test("before the first deploy a key gets the generic document", () =>
  withWorld(async ({ send, keys }) => {
    const { body } = await send("GET", "/openapi.json", { token: keys.test.read });
    assert.deepEqual(body, DOCUMENT);
  }, { spec: null }));
