/**
 * Makes each case of `tests/golden/http/<subject>.json` a test. A case is a request, what the
 * scripted service answers, and the exact status, headers, body and calls that must result.
 */

import assert from "node:assert/strict";
import type { EnvironmentSource } from "../../src/http/call.ts";
import { type Script, scriptApp, TEST_LISTENER, TOKENS } from "./scripted_service.ts";

interface GoldenCase {
  readonly name: string;
  readonly script?: Script;
  readonly environment?: EnvironmentSource;
  readonly request: {
    readonly method: string;
    /** From the root, or a whole URL if the host matters. */
    readonly path: string;
    /** A name of `TOKENS`; "none" sends no Authorization. Default: write. */
    readonly token?: keyof typeof TOKENS | "none";
    readonly headers?: Record<string, string>;
    /** A text is sent as it is, anything else as JSON. */
    readonly body?: unknown;
  };
  readonly status: number;
  /** null means that it must be absent. */
  readonly headers?: Record<string, string | null>;
  /** Exact; left out if there is none. */
  readonly body?: unknown;
  /** `[method, ...arguments]` of each call of the service; not checked if left out. */
  readonly calls?: readonly unknown[];
}

/** Registers one test for each case of the subject. */
export function testGoldenCases(subject: string): void {
  const url = new URL(`../golden/http/${subject}.json`, import.meta.url);
  const cases: readonly GoldenCase[] = JSON.parse(Deno.readTextFileSync(url));
  for (const golden of cases) {
    Deno.test(`${subject}: ${golden.name}`, () => checkCase(golden));
  }
}

async function checkCase(golden: GoldenCase): Promise<void> {
  const environment = golden.environment ?? TEST_LISTENER.environment;
  const { app, calls } = scriptApp(golden.script, { ...TEST_LISTENER, environment });
  const response = await app.fetch(toRequest(golden.request));
  const text = await response.text();
  assert.equal(response.status, golden.status, text);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.ok(response.headers.get("x-request-id"), "every answer has a request id");
  if (golden.status >= 500) assert.ok(response.headers.get("x-error-id"), "a 5xx has an error id");
  for (const [name, value] of Object.entries(golden.headers ?? {})) {
    assert.equal(response.headers.get(name), value, name);
  }
  if (golden.body === undefined) {
    assert.equal(text, "");
  } else {
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(JSON.parse(text), golden.body);
  }
  if (golden.calls !== undefined) {
    assert.deepEqual(JSON.parse(JSON.stringify(calls)), golden.calls);
  }
}

function toRequest({ method, path, token = "write", headers, body }: GoldenCase["request"]) {
  const url = path.startsWith("/") ? `http://127.0.0.1:8002${path}` : path;
  const all = new Headers({ "x-request-id": "req_1" });
  if (token !== "none") all.set("authorization", `Bearer ${TOKENS[token]}`);
  if (body !== undefined) all.set("content-type", "application/json");
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value === "") all.delete(name);
    all.set(name, value);
  }
  const text = typeof body === "string" || body === undefined ? body : JSON.stringify(body);
  return new Request(url, { method, headers: all, body: text });
}
