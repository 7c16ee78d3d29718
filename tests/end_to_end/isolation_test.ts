/**
 * Isolation of instances: no route gives anything to a credential that does not cover it. Each
 * route of `PATHS` is asked for the things of one instance with every such credential. See
 * docs/reference/basics.md.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { ENVIRONMENTS } from "../../src/domain/tenant.ts";
import { PATHS } from "../../src/http/paths.ts";
import type { WebhookSettings } from "../../src/domain/listener/webhook.ts";
import { settleProjections } from "../support/settle_projections.ts";
import { drain } from "../support/reactive_spec.ts";
import {
  type Belongings,
  DATA_ROWS,
  OPERATOR_ROWS,
  type RouteRow,
  SHARED_ROUTES,
} from "./isolation_rows.ts";
import {
  type Answer,
  operatorClaims,
  type SendOptions,
  signToken,
  withWorld,
  type World,
} from "./world.ts";
import { METADATA, uuid } from "./world_spec.ts";

/** Contained in everything that `shop` writes. */
const MARK = "belongs-to-the-shop-2f9d1c";
const ORDER = uuid(77);
const plain = {
  schema: true,
  handler: { set: { target: "text", value: "$.data.text" } },
  geo: { type: "point", path: "$.data.at" },
};
const BERLIN = { lat: 52.52, lng: 13.405 };

/** One order has an event at a point, a waiting saga, a scheduled event and deliveries. */
const spec: JsonObject = {
  agent_types: ["user"],
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          ...plain,
          implications: [
            {
              schedule: {
                delay: "1h",
                emit: {
                  aggregate_type: "order",
                  id: "$.id",
                  event_type: "was_paid",
                  data: { text: MARK },
                },
              },
            },
            {
              emit: {
                aggregate_type: "order",
                id: "$.data.text",
                event_type: "was_paid",
                data: {},
              },
            },
          ],
        },
        was_paid: plain,
      },
    },
  },
  modules: {
    listeners: {
      hook: { url: "https://hooks.example.com/", secret: `secret-${MARK}`, events: ["order.*"] },
    },
    sagas: {
      waiting: {
        trigger: { aggregate_type: "order", event_type: "was_placed" },
        steps: [{
          name: "pay",
          emit: {
            aggregate_type: "order",
            id: "$.id",
            event_type: "was_paid",
            data: { text: MARK },
          },
          await: { aggregate_type: "order", event_types: ["was_placed"] },
        }],
      },
    },
  },
};

/** A receiver that cannot be reached: pending deliveries stay with the instance. */
function webhooks(): WebhookSettings {
  const sender = { send: () => new Promise<never>(() => {}), close: () => {} };
  return { sender, headerPrefix: "SVC", allowPrivate: false };
}

interface Scene {
  readonly world: World;
  readonly shop: Belongings;
  readonly rival: { readonly key: string; readonly token: string };
}

function withScene(body: (scene: Scene) => Promise<void>): Promise<void> {
  return withWorld(async (world) => {
    const shop = await furnish(world);
    await body({ world, shop, rival: await settleRival(world) });
  }, { spec, webhooks });
}

/** Gives `shop` one of everything. */
async function furnish({ send, service, operator, instanceId }: World): Promise<Belongings> {
  const written = { data: { text: MARK, at: BERLIN }, metadata: METADATA };
  assert.equal((await send("POST", `/order/${ORDER}/was_placed`, { body: written })).status, 201);
  await drain(service);
  // One of them has the same name as the last part of the query path.
  for (const name of ["orders_seen", "query"]) {
    const sources = { order: "$key" };
    const select = { text: "$.order.text" };
    const projection = { name, for_each: "order", sources, select };
    const deployed = await send("POST", `/api/instances/${instanceId}/projections`, {
      body: { environment: "test", projection },
    });
    assert.equal(deployed.status, 201, deployed.text);
  }
  await settleProjections(service);
  const made = await send("POST", "/_admin/anchors", {
    token: operator,
    body: { environment: "test" },
  });
  const first = async (path: string) => (await send("GET", path)).body.data[0];
  const keys = await send("GET", `/api/instances/${instanceId}/keys?environment=test`);
  return {
    instance: instanceId,
    order: ORDER,
    errorId: (await first("/_errors")).error_id,
    sagaId: (await first("/_sagas")).saga_id,
    scheduledId: (await first("/_scheduled")).scheduled_id,
    anchorId: made.body.anchor.id,
    keyId: keys.body.data[0].id,
  };
}

/** Another instance, whose spec has the same types and nothing else. */
async function settleRival({ send }: World): Promise<Scene["rival"]> {
  const { id } = (await send("POST", "/api/instances", { body: { slug: "rival" } })).body;
  const { modules: _, ...rest } = spec;
  const order = { events: { was_placed: plain, was_paid: plain } };
  const deployed = await send("POST", `/api/instances/${id}/spec`, {
    body: { environment: "test", spec: { ...rest, aggregate_types: { order } } },
  });
  assert.equal(deployed.status, 200, deployed.text);
  const issued = await send("POST", `/api/instances/${id}/keys`, {
    body: { name: "theirs", scope: "write", environment: "test" },
  });
  return { key: issued.body.key, token: signToken(operatorClaims({ instances: [id] })) };
}

function ask({ world, shop }: Scene, row: RouteRow, options: SendOptions): Promise<Answer> {
  const [method = ""] = row.route.split(" ");
  const { headers } = row;
  return world.send(method, row.path(shop), { body: row.body?.(shop), headers, ...options });
}

/** Everything that `shop` can read, as it reads it. */
async function readShop(scene: Scene): Promise<string[]> {
  const reads = DATA_ROWS.filter(({ route }) => route.startsWith("GET "));
  const answers = [];
  for (const row of reads) answers.push(await ask(scene, row, {}));
  const keys = await scene.world.send(
    "GET",
    `/api/instances/${scene.shop.instance}/keys?environment=test`,
  );
  return [...answers.map(({ text }) => text), keys.text];
}

Deno.test("every route has a row: who adds one says what another instance gets from it", () => {
  const routes = PATHS.flatMap(({ pattern, methods }) =>
    [...methods].map(([method, { access }]) => ({ route: `${method} ${pattern}`, access }))
  );
  const routesOf = (...kinds: readonly string[]) =>
    routes.filter(({ access }) => kinds.includes(access)).map(({ route }) => route);
  const rows = (table: readonly RouteRow[]) => table.map(({ route }) => route);
  const shared = Object.keys(SHARED_ROUTES);
  assert.deepEqual(rows(DATA_ROWS).toSorted(), routesOf("read", "write").toSorted());
  const operators = [
    ...rows(OPERATOR_ROWS),
    ...shared.filter((name) => /\/api\/(users|instances)|_admin/.test(name)),
  ];
  assert.deepEqual(operators.toSorted(), routesOf("operator").toSorted());
  const open = shared.filter((name) => !operators.includes(name));
  assert.deepEqual(open.toSorted(), routesOf("health", "metrics", "open").toSorted());
});

Deno.test("the owner gets everything that the rows ask for: so a refusal is one of the caller", () =>
  withScene(async (scene) => {
    const reads = DATA_ROWS.filter(({ route }) => route.startsWith("GET "));
    for (const row of reads) {
      if (row.route.includes("platform-anchors")) continue;
      const { status, text } = await ask(scene, row, {});
      assert.equal(status, 200, `${row.route}: ${text}`);
    }
    const texts = await readShop(scene);
    assert.ok(texts.filter((text) => text.includes(MARK)).length >= 4, "it reads what it wrote");
  }));

Deno.test("a key of another instance reads none of it, and changes none of it", () =>
  withScene(async (scene) => {
    const before = await readShop(scene);
    // Reads first: until then the rival has written nothing of its own.
    const isRead = ({ route }: RouteRow) => route.startsWith("GET ");
    for (const row of [...DATA_ROWS].sort((a, b) => Number(isRead(b)) - Number(isRead(a)))) {
      const { status, text, body } = await ask(scene, row, { token: scene.rival.key });
      assert.equal(status, row.rival, `${row.route}: ${text}`);
      assert.ok(!text.includes(MARK), `${row.route}: ${text}`);
      for (const [name, value] of Object.entries(row.rivalBody ?? {})) {
        assert.deepEqual(body[name], value, row.route);
      }
    }
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("on the host of an instance, a key of another one is 403 on every route", () =>
  withScene(async (scene) => {
    for (const row of DATA_ROWS) {
      const options = { token: scene.rival.key, host: "shop-test.example.com" };
      const { status, text } = await ask(scene, row, options);
      assert.equal(status, 403, `${row.route}: ${text}`);
      assert.ok(!text.includes(MARK), row.route);
    }
  }));

Deno.test("a key of another environment is 403 on every route", () =>
  withScene(async (scene) => {
    const before = await readShop(scene);
    for (const environment of ENVIRONMENTS) {
      if (environment === "test") continue;
      for (const token of Object.values(scene.world.keys[environment])) {
        for (const row of DATA_ROWS) {
          const { status, text } = await ask(scene, row, { token });
          assert.equal(status, 403, `${row.route}: ${text}`);
        }
      }
    }
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("a read key is 403 on every route that changes something", () =>
  withScene(async (scene) => {
    const before = await readShop(scene);
    const token = scene.world.keys.test.read;
    // A query is sent with POST and changes nothing.
    const writing = DATA_ROWS.filter(({ route }) =>
      !route.startsWith("GET ") && route !== "POST /_projections/query"
    );
    for (const row of writing) {
      const { status, text } = await ask(scene, row, { token });
      assert.equal(status, 403, `${row.route}: ${text}`);
    }
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("without a credential, with a wrong one or one of the other kind: 401 on every route", () =>
  withScene(async (scene) => {
    const before = await readShop(scene);
    const { keys, operator } = scene.world;
    const expired = signToken(operatorClaims({ exp: 1 }));
    const unknown = `dbk_0_test_${"A".repeat(43)}`;
    for (const row of DATA_ROWS) {
      for (const token of [null, unknown, "x", operator, expired]) {
        const { status, text } = await ask(scene, row, { token });
        assert.equal(status, 401, `${row.route} with ${token}: ${text}`);
      }
    }
    for (const row of OPERATOR_ROWS) {
      for (const token of [null, unknown, "x", keys.test.write, expired]) {
        const { status, text } = await ask(scene, row, { token });
        assert.equal(status, 401, `${row.route} with ${token}: ${text}`);
      }
    }
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("a token for another instance operates nothing of it", () =>
  withScene(async (scene) => {
    const { world, shop, rival } = scene;
    const before = await readShop(scene);
    for (const row of OPERATOR_ROWS) {
      const { status, text } = await ask(scene, row, { token: rival.token });
      assert.equal(status, row.rival, `${row.route}: ${text}`);
      assert.ok(!text.includes(MARK) && (status !== 200 || !text.includes(shop.instance)), text);
    }
    const made = { body: { slug: "third" }, token: rival.token };
    assert.equal((await world.send("POST", "/api/instances", made)).status, 403);
    const user = { email: "me@example.com", password: "long enough for anybody" };
    const added = await world.send("POST", "/api/users", { body: user, token: rival.token });
    assert.equal(added.status, 403);
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("a token for the instance itself operates it, but changes nothing of what it may", () =>
  withScene(async (scene) => {
    const { world, shop } = scene;
    const token = signToken(operatorClaims({ instances: [shop.instance] }));
    for (const row of OPERATOR_ROWS) {
      const { status, text } = await ask(scene, row, { token });
      assert.equal(status === 403, row.isForUnrestricted === true, `${row.route}: ${text}`);
      if (status === 403) assert.match(text, /needs an operator token that is not restricted/);
    }
    const made = await world.send("POST", "/api/instances", { body: { slug: "third" }, token });
    assert.equal(made.status, 403);
    const free = await world.send("PATCH", `/api/instances/${shop.instance}`, {
      body: { tier: "free" },
    });
    assert.equal(free.status, 200, free.text);
    const lifted = await world.send("PATCH", `/api/instances/${shop.instance}`, {
      body: { tier: "unlimited" },
      token,
    });
    assert.equal(lifted.status, 403);
    const read = await world.send("GET", `/api/instances/${shop.instance}`, { token });
    assert.equal(read.body.tier, "free");
  }));

Deno.test("an operator token of another role is 403 on every operator route", () =>
  withScene(async (scene) => {
    const token = signToken(operatorClaims({ role: "viewer" }));
    for (const row of OPERATOR_ROWS) {
      const { status, text } = await ask(scene, row, { token });
      assert.equal(status, 403, `${row.route}: ${text}`);
    }
  }));

const READS = DATA_ROWS.filter(({ route }) =>
  route.startsWith("GET ") || route === "POST /_projections/query"
);

/** The same row, asked with the name of an instance. */
function naming(row: RouteRow, instance: string): RouteRow {
  function path(shop: Belongings): string {
    const plainPath = row.path(shop);
    return `${plainPath}${plainPath.includes("?") ? "&" : "?"}instance_id=${instance}`;
  }
  return { ...row, path };
}

Deno.test("an operator reads an instance that the query names, as its own key does; nothing else", () =>
  withScene(async (scene) => {
    const { world, shop } = scene;
    const before = await readShop(scene);
    const tokens = [world.operator, signToken(operatorClaims({ instances: [shop.instance] }))];
    let marked = 0;
    for (const row of READS) {
      const owned = await ask(scene, row, {});
      for (const token of tokens) {
        const read = await ask(scene, naming(row, shop.instance), { token });
        assert.equal(read.status, owned.status, `${row.route}: ${read.text}`);
        assert.equal(read.text.includes(MARK), owned.text.includes(MARK), row.route);
        assert.equal(read.headers.get("x-ratelimit-scope"), null, "no read of the instance");
        if (read.text.includes(MARK)) marked++;
      }
    }
    assert.ok(marked >= 8, `${marked} answers had something of the shop`);
    for (const row of DATA_ROWS) {
      if (READS.includes(row)) continue;
      for (const token of tokens) {
        const { status, text } = await ask(scene, naming(row, shop.instance), { token });
        assert.equal(status, 401, `${row.route}: ${text}`);
      }
    }
    assert.deepEqual(await readShop(scene), before);
  }));

Deno.test("an operator token reads nothing where it does not name an instance that it covers", () =>
  withScene(async (scene) => {
    const { world, shop, rival } = scene;
    const none = "7373ccb7-710a-4227-be5b-e42403912001";
    const cases: readonly (readonly [token: string, instance: string, status: number])[] = [
      [rival.token, shop.instance, 403],
      [rival.token, none, 403],
      [rival.token, "", 401],
      [world.operator, "", 401],
      [world.operator, none, 404],
      [world.operator, "shop", 404],
      [signToken(operatorClaims({ role: "viewer" })), shop.instance, 403],
      [signToken(operatorClaims({ exp: 1 })), shop.instance, 401],
      [`${world.operator.slice(0, -4)}AAAA`, shop.instance, 401],
    ];
    for (const row of READS) {
      for (const [token, instance, wanted] of cases) {
        const { status, text } = await ask(scene, naming(row, instance), { token });
        assert.equal(status, wanted, `${row.route} of ${instance}: ${text}`);
        assert.ok(!text.includes(MARK), row.route);
      }
      const elsewhere = { token: world.operator, host: "rival-test.example.com" };
      const { status, text } = await ask(scene, naming(row, shop.instance), elsewhere);
      assert.equal(status, 403, `${row.route} on the host of another: ${text}`);
      assert.ok(!text.includes(MARK), row.route);
    }
  }));

Deno.test("an operator reads the environment of the address, and no other one", () =>
  withScene(async (scene) => {
    const { world, shop } = scene;
    const token = world.operator;
    for (const row of READS.map((each) => naming(each, shop.instance))) {
      for (const environment of ["production", "staging"] as const) {
        const { status, text } = await ask(scene, row, { token, environment });
        const key = world.keys[environment].read;
        const owned = await ask(scene, row, { token: key, environment });
        assert.equal(status, owned.status, `${row.route}: ${text}`);
        assert.ok(!text.includes(MARK), `${row.route} in ${environment}`);
      }
      const here = { token, host: "shop-test.example.com" };
      assert.notEqual((await ask(scene, row, here)).status, 403, row.route);
    }
  }));

Deno.test("a key may name its own instance, and is 403 if it names another one", () =>
  withScene(async (scene) => {
    const { world, shop, rival } = scene;
    for (const row of READS) {
      const owned = await ask(scene, row, {});
      const named = await ask(scene, naming(row, shop.instance), {});
      assert.equal(named.status, owned.status, row.route);
      for (const token of [rival.key, world.keys.test.read]) {
        const instance = token === rival.key ? shop.instance : "another";
        const { status, text } = await ask(scene, naming(row, instance), { token });
        assert.equal(status, 403, `${row.route}: ${text}`);
        assert.ok(!text.includes(MARK), row.route);
      }
    }
  }));
