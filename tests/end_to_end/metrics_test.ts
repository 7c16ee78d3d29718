/** `GET /metrics` over the whole product: each number changes by exactly what was done. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import { createApp } from "../../src/http/app.ts";
import { METRICS } from "../../src/http/metrics/definitions.ts";
import { codeOf, readText, sectionOf, tableRows } from "../documentation/markdown.ts";
import { faultyEngine } from "../support/faulty_engine.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import { type Family, parsePrometheusText } from "../support/prometheus_text.ts";
import { drain, reactiveSpec } from "../support/reactive_spec.ts";
import { SHOP } from "../support/saga_fixtures.ts";
import { withWorld, type World, type WorldOptions } from "./world.ts";
import { METADATA, noteBody, uuid } from "./world_spec.ts";

/** All samples of all families. */
type Numbers = Record<string, number>;

interface Watched extends World {
  /** Sends through an application of its own, with its own counters. */
  ask(method: string, path: string, body?: unknown, headers?: HeadersInit): Promise<Response>;
  scrape(): Promise<Map<string, Family>>;
  /** What `work` changed, without the metrics of the scrapes themselves and of the process. */
  changes(work: () => Promise<unknown>): Promise<Numbers>;
}

const OWN = /^process_|_lag_seconds|route="\/metrics"|_duration_seconds_(?:bucket|sum)/;

async function watchWorld(body: (world: Watched) => Promise<void>, options?: WorldOptions) {
  await withWorld(async (world) => {
    const app = createApp(world.service, world.host, {
      headerPrefix: "SVC",
      environment: { kind: "listener", environment: "test" },
      clientAddress: (peer) => peer,
    });

    async function ask(method: string, path: string, body?: unknown, headers: HeadersInit = {}) {
      const all = new Headers({ authorization: `Bearer ${world.keys.test.write}` });
      if (body !== undefined) all.set("content-type", "application/json");
      new Headers(headers).forEach((value, name) => all.set(name, value));
      const init = { method, headers: all, body: body === undefined ? null : JSON.stringify(body) };
      return await app.fetch(new Request(`http://127.0.0.1:8002${path}`, init));
    }

    async function scrape() {
      // The store is measured once a second.
      world.host.timeMs += 1_000;
      const authorization = `Bearer ${world.operator}`;
      const response = await ask("GET", "/metrics", undefined, { authorization });
      assert.equal(response.status, 200);
      return parsePrometheusText(await response.text());
    }

    async function changes(work: () => Promise<unknown>) {
      const before = numbersOf(await scrape());
      await work();
      const after = numbersOf(await scrape());
      const names = new Set([...Object.keys(before), ...Object.keys(after)]);
      const changed = [...names].filter((name) => !OWN.test(name) && before[name] !== after[name]);
      return Object.fromEntries(
        changed.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
      );
    }

    await body({ ...world, ask, scrape, changes });
  }, options);
}

function numbersOf(families: ReadonlyMap<string, Family>): Numbers {
  return Object.fromEntries([...families.values()].flatMap(({ samples }) => [...samples]));
}

/** The two numbers that one kind of answer changes. */
function answered(method: string, route: string, status: number, times = 1): Numbers {
  const labels = `method="${method}",route="${route}",status`;
  const name = "daybook_http_request_duration_seconds_count";
  return {
    [`daybook_http_requests_total{${labels}="${status}"}`]: times,
    [`${name}{${labels}_class="${Math.floor(status / 100)}xx"}`]: times,
  };
}

const NOTE = `/note/${uuid(1)}`;
const SINGLE = "/{type}/{id}/{event}";
const BATCH = "/{type}/{id}";

Deno.test("writes, replays and refusals move what they are, each by one", async () => {
  await watchWorld(async ({ ask, changes }) => {
    const key = { "x-idempotency-key": "k1" };
    const write = `${NOTE}/was_written`;
    const moved = await changes(async () => {
      await ask("POST", write, noteBody("a"), key);
      await ask("POST", write, noteBody("a"), key);
      await ask("POST", write, noteBody("other"), key);
      await ask("POST", write, noteBody("b", { previous_length: 7 }));
      await ask("POST", "/order/global/was_placed", { data: { x: 1 }, metadata: METADATA });
      await ask("POST", "/order/global/was_unknown", noteBody("a"));
      await ask("POST", write, [1]);
      await ask("POST", write, noteBody("a"), { authorization: "Bearer dbk_0_test_x" });
      const events = ["was_written", "was_filed", "was_filed"].map((type) => ({ type }));
      await ask("POST", NOTE, { events, metadata: METADATA });
      const targets = [1, 2].map((n) => ({ aggregate_type: "note", id: uuid(n), events }));
      await ask("POST", "/_atomic-write", { targets, metadata: METADATA });
      const guarded = targets.map((target) => ({ ...target, previous_length: 0 }));
      await ask("POST", "/_atomic-write", { targets: guarded, metadata: METADATA });
    });
    const refused = (errorType: string) =>
      `daybook_writes_refused_total{error_type="${errorType}"}`;
    const count = "daybook_http_request_duration_seconds_count";
    const labels = `method="POST",route="${SINGLE}",status_class`;
    assert.deepEqual(moved, {
      ...answered("POST", SINGLE, 201, 2),
      ...answered("POST", SINGLE, 422, 2),
      ...answered("POST", SINGLE, 409),
      ...answered("POST", SINGLE, 404),
      ...answered("POST", SINGLE, 400),
      ...answered("POST", SINGLE, 401),
      [`${count}{${labels}="4xx"}`]: 6,
      ...answered("POST", BATCH, 201),
      ...answered("POST", "/_atomic-write", 201),
      ...answered("POST", "/_atomic-write", 409),
      [refused("idempotency_mismatch")]: 1,
      [refused("occ_conflict")]: 2,
      [refused("schema_validation")]: 1,
      [refused("not_found")]: 1,
      [refused("bad_request")]: 1,
      'daybook_events_written_total{origin="client"}': 1 + 3 + 6,
      daybook_writes_replayed_total: 1,
      ...storeMoves(moved),
    });
  });
});

/** The size of the store and the number of conflicts are not documented behaviour. */
function storeMoves(moved: Numbers): Numbers {
  return Object.fromEntries(Object.entries(moved).filter(([name]) => /^daybook_store_/.test(name)));
}

Deno.test("reads move the number of where they began to fold", async () => {
  await watchWorld(async ({ ask, changes }) => {
    await ask("POST", `${NOTE}/was_written`, noteBody("a"));
    await ask("POST", `/tally/global/was_raised`, noteBody("a"));
    const moved = await changes(async () => {
      for (let n = 0; n < 3; n++) await ask("GET", NOTE);
      await ask("GET", `${NOTE}?synchronous=true`);
      await ask("GET", "/tally/global");
      await ask("HEAD", NOTE);
      await ask("GET", `/note/${uuid(9)}`);
    });
    assert.deepEqual(moved, {
      ...answered("GET", BATCH, 200, 5),
      ...answered("GET", BATCH, 404),
      ...answered("HEAD", BATCH, 200),
      'daybook_state_reads_total{base="events"}': 3,
      'daybook_state_reads_total{base="memory"}': 3,
      ...storeMoves(moved),
    });
  });
});

Deno.test("what events set off is counted by what it is, and its failures as error records", async () => {
  const placed = (type: string, data: JsonObject = {}) => ({
    path: `/order/${uuid(1)}/${type}`,
    data,
  });
  await watchWorld(async ({ ask, changes, host, service }) => {
    const moved = await changes(async () => {
      for (
        const { path, data } of [
          placed("was_placed"),
          placed("was_sent", { id: "no identifier" }),
          placed("was_counted", { count: "no number" }),
          placed("was_echoed"),
          placed("was_delayed"),
        ]
      ) {
        assert.equal((await ask("POST", path, { data, metadata: METADATA })).status, 201);
      }
      host.timeMs += 10_000;
      await drain(service);
    });
    assert.deepEqual(moved, {
      ...answered("POST", SINGLE, 201, 5),
      'daybook_events_written_total{origin="client"}': 5,
      // was_placed 1, was_sent 1, was_counted 1, the echo 8, and 1 that the fired event
      // implies.
      'daybook_events_written_total{origin="implied"}': 12,
      'daybook_events_written_total{origin="scheduled"}': 1,
      'daybook_error_records_total{error_type="implication_failed"}': 2,
      'daybook_error_records_total{error_type="implication_depth_exceeded"}': 1,
      ...storeMoves(moved),
    });
  }, { spec: reactiveSpec });
});

Deno.test("sagas move by one for each transition, and their events are counted", async () => {
  await watchWorld(async ({ ask, changes, host, service }) => {
    const state = (name: string) => `daybook_saga_transitions_total{state="${name}"}`;
    const order = (id: string) =>
      ask("POST", `/order/${id}/was_placed`, { data: { sku: "stock" }, metadata: METADATA });
    const moved = await changes(async () => {
      await order("o1");
      await drain(service);
      await ask("POST", "/payment/o1/was_captured", { data: {}, metadata: METADATA });
      await drain(service);
      await order("o2");
      await drain(service);
      host.timeMs += 60_000;
      await drain(service);
    });
    assert.deepEqual(moved, {
      ...answered("POST", SINGLE, 201, 3),
      [state("running")]: 2,
      [state("completed")]: 1,
      [state("compensated")]: 1,
      'daybook_events_written_total{origin="client"}': 3,
      // Both sagas reserve and request their payment; one is confirmed, the other releases.
      'daybook_events_written_total{origin="saga"}': 6,
      ...storeMoves(moved),
    });
  }, { spec: SHOP });
});

Deno.test("a saga that cannot be moved on counts as failed, with its error record", async () => {
  let poison: string | undefined;
  await watchWorld(async ({ ask, changes, host, service }) => {
    await ask("POST", "/order/o1/was_placed", { data: { sku: "stock" }, metadata: METADATA });
    await drain(service);
    poison = "inventory:stock";
    const moved = await changes(async () => {
      for (let n = 0; n <= limits.reactionTriesMax; n++) {
        host.timeMs += limits.reactionRetryMsMax;
        await drain(service);
      }
    });
    assert.deepEqual(moved, {
      'daybook_saga_transitions_total{state="failed"}': 1,
      'daybook_error_records_total{error_type="implication_failed"}': 1,
      ...storeMoves(moved),
    });
  }, { spec: SHOP, wrap: (engine) => poisonedEngine(engine, () => poison) });
});

Deno.test("what the event of a saga implies in vain is counted as an error record", async () => {
  const spec = structuredClone(SHOP) as { aggregate_types: Record<string, { events: JsonObject }> };
  const emit = { aggregate_type: "order", id: "$.data.none", event_type: "was_confirmed" };
  const implications = [{ emit }];
  spec.aggregate_types.inventory!.events.was_reserved = { schema: true, handler: [], implications };
  await watchWorld(async ({ ask, changes, service }) => {
    const moved = await changes(async () => {
      await ask("POST", "/order/o1/was_placed", { data: { sku: "stock" }, metadata: METADATA });
      await drain(service);
    });
    assert.equal(moved['daybook_error_records_total{error_type="implication_failed"}'], 1);
    assert.equal(moved['daybook_events_written_total{origin="saga"}'], 2);
  }, { spec: spec as unknown as JsonObject });
});

Deno.test("a scheduled event that is given up is counted as an error record and as parked", async () => {
  let poison: string | undefined;
  await watchWorld(async ({ ask, changes, host, service }) => {
    await ask("POST", `/order/${uuid(1)}/was_delayed`, { data: {}, metadata: METADATA });
    poison = uuid(1);
    const moved = await changes(async () => {
      for (let n = 0; n <= limits.reactionTriesMax; n++) {
        host.timeMs += limits.reactionRetryMsMax;
        await drain(service);
      }
    });
    assert.deepEqual(moved, {
      'daybook_error_records_total{error_type="implication_failed"}': 1,
      'daybook_queue_depth{queue="parked"}': 1,
      ...storeMoves(moved),
    });
  }, { spec: reactiveSpec, wrap: (engine) => poisonedEngine(engine, () => poison) });
});

Deno.test("a replay that a later spec would refuse counts as a replay", async () => {
  await watchWorld(async ({ ask, changes, service, tenants }) => {
    const write = () =>
      ask("POST", `${NOTE}/was_written`, noteBody("a"), { "x-idempotency-key": "k1" });
    await write();
    const spec = { agent_types: ["user"], aggregate_types: {} };
    const deploy = { spec, force: true, dryRun: false };
    assert.ok((await service.specs.deploySpec(tenants.test, deploy)).ok);
    const moved = await changes(write);
    assert.deepEqual(moved, {
      ...answered("POST", SINGLE, 201),
      daybook_writes_replayed_total: 1,
      ...storeMoves(moved),
    });
  });
});

Deno.test("the queues show what waits and for how long, and what is parked", async () => {
  let poison: string | undefined = `ledger:${uuid(1)}`;
  await watchWorld(async ({ ask, scrape, host, service }) => {
    await ask("POST", `/order/${uuid(1)}/was_placed`, { data: {}, metadata: METADATA });
    await ask("POST", `/order/${uuid(2)}/was_delayed`, { data: {}, metadata: METADATA });
    host.timeMs += 30_000;
    const waiting = numbersOf(await scrape());
    assert.equal(waiting['daybook_queue_depth{queue="outbox"}'], 1);
    assert.equal(waiting['daybook_queue_depth{queue="timer"}'], 1);
    assert.equal(waiting['daybook_queue_depth{queue="parked"}'], 0);
    // Tried at once and postponed; the scrape itself moves the clock by a second.
    assert.equal(waiting['daybook_queue_lag_seconds{queue="outbox"}'], 31);
    assert.equal(waiting['daybook_queue_lag_seconds{queue="timer"}'], 21);
    for (let n = 0; n < limits.reactionTriesMax; n++) {
      host.timeMs += limits.reactionRetryMsMax;
      await drain(service);
    }
    poison = undefined;
    const parked = numbersOf(await scrape());
    assert.equal(parked['daybook_queue_depth{queue="outbox"}'], 0);
    assert.equal(parked['daybook_queue_depth{queue="timer"}'], 0);
    assert.equal(parked['daybook_queue_depth{queue="parked"}'], 1);
    assert.equal(parked['daybook_error_records_total{error_type="implication_failed"}'], 1);
  }, { spec: reactiveSpec, wrap: (engine) => poisonedEngine(engine, () => poison) });
});

Deno.test("deploys count as accepted or refused, dry runs not at all", async () => {
  await watchWorld(async ({ ask, changes, instanceId, operator }) => {
    const authorization = `Bearer ${operator}`;
    const deploy = (change: JsonObject) =>
      ask("POST", `/api/instances/${instanceId}/spec`, change, { authorization });
    const spec = { agent_types: ["user"], aggregate_types: {} };
    const moved = await changes(async () => {
      await deploy({ spec, force: true });
      await deploy({ spec, force: true });
      await deploy({ spec: {} });
      await deploy({ spec, dry_run: true });
    });
    assert.deepEqual(moved, {
      ...answered("POST", "/api/instances/{id}/spec", 200, 3),
      ...answered("POST", "/api/instances/{id}/spec", 422),
      'daybook_spec_deploys_total{outcome="accepted"}': 2,
      'daybook_spec_deploys_total{outcome="refused"}': 1,
      ...storeMoves(moved),
    });
  });
});

Deno.test("with the store away /metrics answers, and says so", async () => {
  let isAway = false;
  const wrap: WorldOptions["wrap"] = (engine) => faultyEngine(engine, [], { isAway: () => isAway });
  await watchWorld(async ({ ask, scrape }) => {
    assert.equal(numbersOf(await scrape()).daybook_store_up, 1);
    assert.equal((await ask("GET", NOTE)).status, 404);
    isAway = true;
    assert.equal((await ask("GET", NOTE)).status, 503);
    const numbers = numbersOf(await scrape());
    assert.equal(numbers.daybook_store_up, 0);
    assert.equal(numbers['daybook_error_records_total{error_type="unavailable"}'], 1);
    assert.deepEqual(Object.keys(numbers).filter((name) => name.startsWith("daybook_queue_")), []);
    isAway = false;
    assert.equal(numbersOf(await scrape()).daybook_store_up, 1);
  }, { wrap });
});

Deno.test("10,000 odd paths, methods, names and statuses make a few series and no more", async () => {
  await watchWorld(async ({ ask, scrape }) => {
    const odd = [
      "",
      "a/b/c/d/e",
      "%ff",
      "_unknown",
      "metrics/x",
      '"}\n{x="',
      "/",
      "api/x",
      "..%2f",
    ];
    for (let n = 0; n < 10_000; n++) {
      const method = ["GET", "POST", "PUT", "OPTIONS", `X${n}`][n % 5]!;
      const path = n % 10 === 9 ? `type${n}/id${n}/event${n}` : `${odd[n % 9]}${n}`;
      const body = method === "POST" ? noteBody(`${n}`) : undefined;
      await ask(method, `/${path}`, body, { authorization: n % 2 === 0 ? `Bearer ${n}` : "" });
    }
    const families = await scrape();
    let series = 0;
    for (const { samples, labels } of families.values()) {
      series += samples.size;
      for (const name of labels) assert.ok(LABELS.has(name), name);
    }
    assert.ok(series < 1_000, `${series}`);
    const text = [...families.values()].flatMap(({ samples }) => [...samples.keys()]).join("\n");
    assert.ok(!/type\d|X\d|unknown|dbk_|\b[0-9a-f]{8}-/.test(text), "nothing of a client's");
  });
});

const LABELS: ReadonlySet<string> = new Set(METRICS.flatMap(({ labels }) => labels));

Deno.test("two services in one process count each for itself", async () => {
  await watchWorld(async (first) => {
    await watchWorld(async (second) => {
      const quiet = await second.changes(async () => {
        await first.ask("POST", `${NOTE}/was_written`, noteBody("a"));
        await first.ask("GET", NOTE);
      });
      assert.deepEqual(quiet, storeMoves(quiet));
    });
    assert.equal(
      numbersOf(await first.scrape())['daybook_events_written_total{origin="client"}'],
      1,
    );
  });
});

Deno.test("the API reference has every metric with its type and labels, and no others", async () => {
  await watchWorld(async ({ ask, scrape }) => {
    await ask("POST", `${NOTE}/was_written`, noteBody("a", { previous_length: 7 }));
    const families = await scrape();
    const rows = tableRows(sectionOf(readText("docs/reference/monitoring.md"), "## Metrics"));
    const listed = rows.map(([name, type, labels]) => [
      codeOf(name),
      type,
      (labels ?? "").split(", ").filter((label) => label !== "").map(codeOf),
    ]);
    const built = METRICS.map(({ name, type, labels }) => [name, type, labels]);
    assert.deepEqual(listed, built);
    assert.deepEqual(
      [...families].map(([name, { type }]) => [name, type]),
      METRICS.map(({ name, type }) => [name, type]),
    );
    for (const { name, labels } of METRICS) {
      const seen = families.get(name)!.labels;
      // What has not happened yet has no series.
      if (seen.size > 0) assert.deepEqual([...seen].sort(), [...labels].sort(), name);
    }
  });
});
