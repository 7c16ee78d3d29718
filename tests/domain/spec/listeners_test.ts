/**
 * What `modules.listeners` may say: every rule as a golden case, and where it may be deployed.
 */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { checkListenersFor } from "../../../src/domain/spec/listeners.ts";
import { ENVIRONMENTS } from "../../../src/domain/tenant.ts";
import { SHOP } from "../../support/saga_fixtures.ts";

interface InvalidListener {
  readonly name: string;
  /** Replaces fields of a valid listener; null removes a key. */
  readonly with?: Record<string, JsonValue>;
  /** Replaces all listeners. */
  readonly listeners?: JsonValue;
  readonly rule: string;
  readonly path: string;
  readonly hint?: string;
}

interface HostileUrl {
  readonly is: string;
  readonly url: string;
  readonly refused: "at deploy" | "before connecting";
}

function golden<T>(file: string): readonly T[] {
  return JSON.parse(
    Deno.readTextFileSync(new URL(`../../golden/listeners/${file}`, import.meta.url)),
  );
}

const SECRET = "a secret that nobody may see";
const HOOK = { url: "https://example.com/hook", secret: SECRET, events: ["order.was_placed"] };

function compile(listeners: JsonValue) {
  return compileSpec({ ...SHOP, modules: { listeners } });
}

function listenersOf(listeners: JsonObject) {
  const compiled = compile(listeners);
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.spec.listeners;
}

function overlaid(laid: Record<string, JsonValue>): JsonObject {
  const entries = Object.entries<JsonValue>({ ...HOOK, ...laid });
  return Object.fromEntries(entries.filter(([, value]) => value !== null));
}

for (const invalid of golden<InvalidListener>("invalid_listeners.json")) {
  Deno.test(`compileSpec() refuses, among listeners, ${invalid.name}`, () => {
    const compiled = compile(invalid.listeners ?? { hook: overlaid(invalid.with!) });
    assert.ok(!compiled.ok, "it was accepted");
    const { violations } = compiled;
    const found = violations.find(({ rule, path }) =>
      rule === invalid.rule && path === invalid.path
    );
    assert.ok(found, JSON.stringify(violations, null, 1));
    assert.ok(found.message !== "" && found.hint !== "");
    if (invalid.hint !== undefined) assert.equal(found.hint, invalid.hint);
    assert.ok(!JSON.stringify(violations).includes(SECRET), "a fault shows the secret");
  });
}

Deno.test("compileSpec() takes listeners and spells their URLs as the standard does", () => {
  const found = listenersOf({
    hook: { ...HOOK, url: "HTTPS://Example.COM:443/a b?c=d", format: "cloudevents" },
    other: { ...HOOK, events: ["*"], enabled: false, title: "Other", description: "All of it" },
  });
  assert.deepEqual([...found.values()], [
    {
      ...HOOK,
      name: "hook",
      url: "https://example.com/a%20b?c=d",
      enabled: true,
      format: "cloudevents",
    },
    { ...HOOK, name: "other", events: ["*"], enabled: false, format: "daybook" },
  ]);
});

Deno.test("compileSpec() takes as many listeners as the limit says, and not one more", () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`hook_${index}`, HOOK]));
  assert.ok(compile(many(limits.listenersMax)).ok);
  assert.ok(!compile(many(limits.listenersMax + 1)).ok);
});

Deno.test("secrets and URLs may be as long as their limits, and no longer", () => {
  const base = "https://example.com/";
  const longest = base + "x".repeat(limits.listenerUrlCharactersMax - base.length);
  for (const length of [limits.listenerSecretCharactersMin, limits.listenerSecretCharactersMax]) {
    assert.ok(compile({ hook: { ...HOOK, secret: "x".repeat(length) } }).ok, `${length}`);
  }
  const { listenerSecretCharactersMin: min, listenerSecretCharactersMax: max } = limits;
  for (const length of [min - 1, max + 1]) {
    assert.ok(!compile({ hook: { ...HOOK, secret: "x".repeat(length) } }).ok, `${length}`);
  }
  assert.ok(compile({ hook: { ...HOOK, url: longest } }).ok);
  assert.ok(!compile({ hook: { ...HOOK, url: longest + "x" } }).ok);
});

Deno.test("http: is for staging and test; production wants https:", () => {
  const plain = listenersOf({ hook: { ...HOOK, url: "http://example.com/hook" } });
  const refused = ENVIRONMENTS.filter((environment) =>
    checkListenersFor(plain.values(), environment, false).length > 0
  );
  assert.deepEqual(refused, ["production"]);
  const [fault] = checkListenersFor(plain.values(), "production", true);
  assert.equal(fault?.rule, "url_not_https");
  assert.equal(fault?.path, "modules.listeners.hook.url");
  const secure = listenersOf({ hook: HOOK });
  assert.deepEqual(checkListenersFor(secure.values(), "production", false), []);
});

for (const { is, url, refused } of golden<HostileUrl>("hostile_urls.json")) {
  if (refused !== "at deploy") continue;
  Deno.test(`a listener cannot be deployed with ${is}: ${url}`, () => {
    const compiled = compile({ hook: { ...HOOK, url: url.replace("{port}", "8080") } });
    if (!compiled.ok) return;
    const faults = checkListenersFor(compiled.spec.listeners.values(), "test", false);
    assert.deepEqual(faults.map(({ rule }) => rule), ["url_not_public"]);
  });
}

Deno.test("private addresses may be deployed where the settings allow them", () => {
  const local = listenersOf({ hook: { ...HOOK, url: "http://127.0.0.1:8080/" } });
  assert.deepEqual(checkListenersFor(local.values(), "test", true), []);
});

Deno.test("public addresses may be deployed, of both families", () => {
  for (const host of ["93.184.216.34", "[2606:4700::1111]", "[::ffff:93.184.216.34]"]) {
    const found = listenersOf({ hook: { ...HOOK, url: `https://${host}/` } });
    assert.deepEqual(checkListenersFor(found.values(), "production", false), [], host);
  }
});

Deno.test("a listener of too many patterns gets that fault and none for each pattern", () => {
  const events = Array.from({ length: limits.listenerEventsMax + 1 }, (_, at) => `x${at}.y`);
  const compiled = compile({ hook: { ...HOOK, events } });
  assert.ok(!compiled.ok);
  assert.deepEqual(compiled.violations.map(({ rule }) => rule), ["too_many"]);
});
