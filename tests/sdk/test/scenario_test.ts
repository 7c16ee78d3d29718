/**
 * Scenarios have the server's states and refusals: the golden cases of the handler language, and
 * words of the server for events that it would refuse. What does not hold fails, and says why.
 */

import assert from "node:assert/strict";
import { ScenarioError, testSpec } from "../../../sdk/src/test/mod.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { GOLDEN } from "../../domain/handler/golden.ts";
import type { Shop } from "../shop_server.ts";

const { order, customer } = testSpec<Shop>(exampleSpec);
const PLACED = { type: "was_placed", data: { customer: "Ada", total: 5 } } as const;
const PAID = { type: "was_paid", data: { amount: 5 } } as const;

function failureOf(run: () => void): ScenarioError {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof ScenarioError, String(error));
    assert.equal(error.name, "AssertionError");
    return error;
  }
  throw new assert.AssertionError({ message: "it held, although it must not" });
}

type OrderState = Shop["aggregates"]["order"]["state"];

function pay(state: OrderState, { length }: { readonly length: number }) {
  if (length === 0) throw new Error("there is no such order");
  return state.status === "paid" ? undefined : { type: "was_paid", data: { amount: 5 } } as const;
}

Deno.test("given, when, then: events and states that are so are accepted", () => {
  const placed = order.given([PLACED]);
  placed.thenState({ customer: "Ada", total: 5, status: "placed", lines: [] });
  assert.equal(placed.state.status, "placed");
  placed.when(pay).then([PAID]);
  placed.when(pay).then(PAID);
  placed.when(pay).thenState({
    customer: "Ada",
    total: 5,
    status: "paid",
    lines: [],
    paid: 5,
    paid_at: 1_767_225_601,
  });
  order.given([PLACED, PAID]).when(pay).then([]);
  order.given([PLACED, PAID]).when(pay).then(undefined);
  order.given([]).when(pay).thenRefused("no such order");
  order.given([]).when(pay).thenRefused(/^there is/);
  order.given([]).when(pay).thenRefused();
  order.given([]).when(pay).thenRefused((error) => error instanceof Error);
  order.given().thenState({});
  customer.given([{ type: "was_registered", data: { name: "Ada" } }]).thenState({ name: "Ada" });
});

Deno.test("events may be given in place of a decision, and a decision may be a promise", async () => {
  order.given([PLACED]).when(PAID).then([PAID]);
  order.given([]).when([PLACED, PAID]).then([PLACED, PAID]);
  const later = order.given([PLACED]).when((state, known) => Promise.resolve(pay(state, known)));
  await later.then([PAID]);
  await assert.rejects(later.then([]), ScenarioError);
  const refused = order.given([]).when((state, known) =>
    Promise.resolve().then(() => pay(state, known))
  );
  await refused.thenRefused("no such order");
});

Deno.test("one decision is asked once, whatever is expected of it, and cannot change what is given", () => {
  let asked = 0;
  const given = order.given([PLACED]);
  const scenario = given.when((state) => {
    asked++;
    (state as { status?: string }).status = "changed";
    return PAID;
  });
  scenario.then([PAID]);
  scenario.then([PAID]);
  assert.equal(asked, 1);
  assert.equal(given.state.status, "placed");
});

Deno.test("what does not hold fails, with both values and the lines that differ", () => {
  const state = failureOf(() => order.given([PLACED]).thenState({ status: "paid" }));
  assert.deepEqual(state.actual, { customer: "Ada", total: 5, status: "placed", lines: [] });
  assert.deepEqual(state.expected, { status: "paid" });
  assert.match(state.message, /^- {3}"status": "paid"$/m);
  assert.match(state.message, /^\+ {3}"status": "placed",$/m);
  const events = failureOf(() => order.given([PLACED]).when(pay).then([]));
  assert.match(events.message, /^Other events were decided/);
  const other = { type: "was_paid", data: { amount: 6 } } as const;
  const data = failureOf(() => order.given([PLACED]).when(pay).then(other));
  assert.match(data.message, /^- {7}"amount": 6$/m);
  assert.match(data.message, /^\+ {7}"amount": 5$/m);
  assert.match(data.message, /^ {6}"data": \{$/m);
  const threw = failureOf(() => order.given([]).when(pay).then([PAID]));
  assert.match(threw.message, /The decision threw: there is no such order/);
  assert.ok(threw.cause instanceof Error);
  const taken = failureOf(() => order.given([PLACED]).when(pay).thenRefused());
  assert.match(taken.message, /A refusal was expected/);
  const reason = failureOf(() => order.given([]).when(pay).thenRefused("already paid"));
  assert.match(reason.message, /for another reason than already paid: there is no such order/);
});

Deno.test("given events are checked as writes are", () => {
  const cases: [unknown, RegExp][] = [
    [
      { type: "was_placed", data: { customer: "" } },
      /was_placed: schema_validation at data.customer/,
    ],
    [{ type: "was_placed", data: {} }, /schema_validation/],
    [{ type: "was_plced", data: {} }, /not_found: Event type 'was_plced' not found in spec/],
    [{ ...PLACED, metadata: { actor: { type: "robot", id: "global" } } }, /metadata.actor.type/],
    [{ ...PLACED, metadata: { actor: { type: "user", id: "?" } } }, /at metadata.actor.id/],
    [{ ...PLACED, metadata: { timestamp: -1 } }, /at metadata.timestamp/],
    [{ ...PLACED, metadata: { colour: "red" } }, /Unknown metadata field: colour/],
  ];
  for (const [event, message] of cases) {
    const failure = failureOf(() => order.given([event as typeof PLACED]));
    assert.match(failure.message, /^The server would refuse a given event: /);
    assert.match(failure.message, message);
  }
  const id = failureOf(() => order.given([PLACED], { id: "not an id" }));
  assert.match(id.message, /at key/);
});

Deno.test("decided events that the server would refuse are a refusal, and fail everything else", () => {
  const wrong = { type: "was_paid", data: { amount: 0 } } as const;
  const given = order.given([PLACED]);
  given.when(wrong).thenRefused("schema_validation");
  given.when(wrong).thenRefused(/data.amount/);
  const failure = failureOf(() => given.when(wrong).then([wrong]));
  assert.match(failure.message, /The server would refuse what was decided: was_paid/);
  failureOf(() => given.when(wrong).thenState({}));
  failureOf(() => given.when(wrong).thenRefused("not_found"));
});

Deno.test("time, actor, id and markers of given events reach the handlers", () => {
  const { log } = testSpec({
    spec: {
      agent_types: ["user", "robot"],
      aggregate_types: {
        log: {
          events: {
            was_seen: {
              schema: true,
              handler: [
                { append: { target: "times", value: "$.metadata.timestamp" } },
                { append: { target: "by", value: "$.metadata.actor.type" } },
                { set: { target: "key", value: "$.key" } },
              ],
            },
            _was_tombstoned: { handler: { set: { target: "erased", value: true } } },
          },
        },
      },
    },
  });
  const seen = { type: "was_seen", data: {} };
  log!.given([
    seen,
    { ...seen, metadata: { timestamp: 5, actor: { type: "robot", id: "global" } } },
    seen,
    { type: "_was_tombstoned", data: {} },
  ], { id: "i0rder001" }).thenState({
    times: [1_767_225_600, 5, 1_767_225_602],
    by: ["user", "robot", "user"],
    key: "log:10RDER001",
    erased: true,
  });
});

Deno.test("a spec that the server would refuse is refused with all its faults", () => {
  const handlers = [{ sett: { target: "a", value: 1 } }, { set: { target: "a", colour: 1 } }];
  const failure = failureOf(() =>
    testSpec({
      agent_types: [],
      aggregate_types: { order: { events: { was_placed: { schema: true, handler: handlers } } } },
    })
  );
  assert.match(failure.message, /^The server would refuse this spec:/);
  assert.match(failure.message, /agent_types/);
  assert.match(failure.message, /was_placed.handler\[0\]/);
  assert.match(failure.message, /was_placed.handler\[1\]/);
});

Deno.test("a WebAssembly handler cannot run here, which the failure says", () => {
  const { order } = testSpec({
    agent_types: ["user"],
    aggregate_types: {
      order: { events: { was_placed: { schema: true, handler: { wasm: "m" } } } },
    },
  });
  const failure = failureOf(() => order!.given([{ type: "was_placed", data: {} }]));
  assert.match(failure.message, /startDaybook/);
});

Deno.test("a scenario that is awaited by mistake says so, and does not hang", async () => {
  const awaited = (async () => {
    await (order.given([PLACED]).when(pay) as unknown);
  })();
  await assert.rejects(awaited, /is no promise/);
});

/** Those whose outcome depends on nothing of the event but its data. */
const cases = [...GOLDEN.values()].flat().filter(({ handler, event = {}, events, expect }) =>
  expect !== undefined && events === undefined &&
  Object.keys(event).every((field) => field === "data") &&
  !/\$\.(?:metadata|key|type)|"\$"/.test(JSON.stringify(handler))
);
Deno.test(`scenarios have the state of each of ${cases.length} golden cases of handlers`, () => {
  assert.ok(cases.length > 300);
  for (const { name, handler, state = {}, event, expect } of cases) {
    // The state to begin with is made by an event of its own.
    const { thing } = testSpec({
      agent_types: ["user"],
      aggregate_types: {
        thing: {
          events: {
            was_begun: { schema: true, handler: { set: { target: "", value: "$.data" } } },
            was_changed: { schema: true, handler },
          },
        },
      },
    });
    const begun = { type: "was_begun", data: state };
    const given = thing!.given([begun, { type: "was_changed", data: event?.data ?? {} }]);
    assert.deepEqual(given.state, expect, name);
  }
});

Deno.test("guards refuse what is decided, each event on the state with those before it", () => {
  const guards = [{ require: { gt: ["@.left", 0] }, message: "None is left" }];
  const { seat } = testSpec({
    agent_types: ["user"],
    aggregate_types: {
      seat: {
        events: {
          was_added: { schema: true, handler: { increment: { target: "left" } } },
          was_taken: { schema: true, handler: { decrement: { target: "left" } }, guards },
        },
      },
    },
  });
  const [added, taken] = ["was_added", "was_taken"].map((type) => ({ type, data: {} }));
  seat!.given([added!]).when(() => [taken!]).thenState({ left: 0 });
  seat!.given([added!]).when(() => [taken!, taken!]).thenRefused("None is left");
  seat!.given([]).when(() => [taken!]).thenRefused("guard_failed");
  const failure = failureOf(() => seat!.given([taken!]));
  assert.match(failure.message, /would refuse a given event/);
});

Deno.test("guards see the states of other aggregates that a scenario names", () => {
  const guards = [{
    with: {
      product: { type: "product", id: "$.data.product" },
      self: { type: "order", id: "global" },
    },
    require: { gt: ["$.with.product.stock", "$.with.self.count"] },
    message: "Not that many",
  }];
  const { order } = testSpec({
    agent_types: ["user"],
    aggregate_types: {
      product: { events: {} },
      order: {
        events: {
          was_counted: { schema: true, handler: { increment: { target: "count" } } },
          was_taken: { schema: true, handler: [], guards },
        },
      },
    },
  });
  const counted = { type: "was_counted", data: {} };
  const taken = { type: "was_taken", data: { product: "abcdefgh1" } };
  const others = { "product:abcdefgh1": { stock: 2 } };
  order!.given([counted], { others }).when(taken).then([taken]);
  order!.given([counted, counted], { others }).when(taken).thenRefused("guard_failed");
  order!.given([counted]).when(taken).thenRefused("Not that many");
  const unnamed = { type: "was_taken", data: {} };
  order!.given([counted], { others }).when(unnamed).thenRefused("Not that many");
  for (const key of ["product", "shelf:global", "product:x"]) {
    const failure = failureOf(() => order!.given([], { others: { [key]: {} } }));
    assert.match(failure.message, /No aggregate of the spec has the key/);
  }
});
