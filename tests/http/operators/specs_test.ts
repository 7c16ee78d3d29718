/** `src/http/operators/specs.ts`: golden cases, and reads of long specs by many at once. */

import assert from "node:assert/strict";
import { createApp } from "../../../src/http/app.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Service } from "../../../src/features/service.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { valueOf, withService } from "../../support/service_fixture.ts";
import { testGoldenCases } from "../golden_cases.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

testGoldenCases("specs");

Deno.test("the length of a long spec is found in time slices", async () => {
  // At each look the clock passes by less than a parse may take.
  let [nowMs, turns] = [0, 0];
  const host = {
    ...quietHost(),
    monotonicMs: () => nowMs += 0.3,
    yieldTurn: () => Promise.resolve(void turns++),
  };
  const app = createApp(scriptService().service, host, TEST_LISTENER);
  const send = async (spec: unknown) => {
    turns = 0;
    const response = await app.fetch(
      new Request("http://127.0.0.1/api/instances/i1/spec", {
        method: "POST",
        headers: { authorization: `Bearer ${TOKENS.operator}`, "content-type": "application/json" },
        body: JSON.stringify({ spec }),
      }),
    );
    return [response.status, (await response.json()).path, turns];
  };
  const many = Array(20).fill(Array(10_000).fill([0, 0, 0]));
  const [ofArray, ofObject] = [await send(many), await send({ many })];
  assert.deepEqual(ofArray.slice(0, 2), [400, "spec"]);
  assert.deepEqual(ofObject.slice(0, 2), [413, "spec"]);
  // Reading the body takes as many turns for both.
  assert.ok(Number(ofObject[2]) - Number(ofArray[2]) > 40, `${ofObject[2]}, ${ofArray[2]}`);
});

const LONG = { ...copyOfExampleSpec(), description: "ü".repeat(300_000) };

interface Reads {
  texts: number;
  /** Whole documents that were parsed. */
  parsed: number;
  underWay: number;
  mostUnderWay: number;
  turns: number;
}

type Ask = (headers?: Record<string, string>, method?: string) => Promise<Response>;

/** Calls `body` with what asks a server for the spec of an environment, and counts its work. */
function withSpecs(
  body: (ask: Ask, reads: Reads, deploy: (spec: JsonObject) => Promise<void>) => Promise<void>,
): Promise<void> {
  return withService(async ({ service, host, tenants: { test } }) => {
    const reads = { texts: 0, parsed: 0, underWay: 0, mostUnderWay: 0, turns: 0 };
    const specs: Service["specs"] = {
      ...service.specs,
      readSpec(tenant) {
        reads.parsed++;
        return service.specs.readSpec(tenant);
      },
      async readSpecText(tenant) {
        reads.texts++;
        reads.mostUnderWay = Math.max(reads.mostUnderWay, ++reads.underWay);
        const found = await service.specs.readSpecText(tenant);
        reads.underWay--;
        return found;
      },
    };
    const counting = {
      ...host,
      yieldTurn() {
        reads.turns++;
        return host.yieldTurn();
      },
    };
    const { service: scripted } = scriptService();
    const access = {
      ...service.access,
      authenticateOperator: scripted.access.authenticateOperator,
      resolveTenant: () => Promise.resolve({ ok: true as const, value: test }),
    };
    const app = createApp({ ...service, specs, access }, counting, TEST_LISTENER);
    const url = `http://127.0.0.1/api/instances/${test.instanceId}/spec?environment=test`;
    const authorization = `Bearer ${TOKENS.operator}`;
    const ask: Ask = (headers, method = "GET") =>
      app.fetch(new Request(url, { method, headers: { authorization, ...headers } }));
    await body(ask, reads, async (spec) => {
      valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
    });
  }, { spec: LONG });
}

Deno.test("a spec is sent as the text that is stored: the members that it has when it is parsed", () =>
  withSpecs(async (ask, reads) => {
    const response = await ask();
    const text = await response.text();
    const { ok, version, spec_hash, created_at, spec } = JSON.parse(text);
    assert.deepEqual(spec, LONG);
    assert.equal(text, JSON.stringify({ ok, version, spec_hash, created_at, spec }));
    assert.equal(response.headers.get("content-length"), String(new Blob([text]).size));
    assert.deepEqual([reads.texts, reads.parsed], [1, 0]);
  }));

Deno.test("HEAD of a spec, and a request with its tag, read nothing of a long document", () =>
  withSpecs(async (ask, reads) => {
    const whole = await ask();
    await whole.body?.cancel();
    const head = await ask({}, "HEAD");
    for (const name of ["content-length", "content-type", "etag", "vary", "cache-control"]) {
      assert.equal(head.headers.get(name), whole.headers.get(name), name);
    }
    const known = { "if-none-match": whole.headers.get("etag")! };
    assert.equal((await ask(known)).status, 304);
    assert.equal((await ask(known, "HEAD")).status, 304);
    assert.deepEqual([reads.texts, reads.parsed], [1, 0]);
  }));

Deno.test("the tag of a spec changes with each version, also when a document returns", () =>
  withSpecs(async (ask, _reads, deploy) => {
    const tags = new Set<string>();
    for (const description of ["a", "b", "a"]) {
      await deploy({ ...LONG, description });
      const response = await ask({}, "HEAD");
      tags.add(response.headers.get("etag")!);
    }
    assert.equal(tags.size, 3);
  }));

Deno.test("of 100 that ask for a long spec at once, one is served in each turn", () =>
  withSpecs(async (ask, reads) => {
    await (await ask()).body?.cancel();
    [reads.turns, reads.mostUnderWay] = [0, 0];
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => {
      const response = await ask();
      await response.body?.cancel();
      return response.status;
    }));
    assert.deepEqual(statuses, Array(100).fill(200));
    assert.ok(reads.mostUnderWay <= 4, `${reads.mostUnderWay} at a time`);
    assert.ok(reads.turns >= 100, `${reads.turns} turns`);
  }));
