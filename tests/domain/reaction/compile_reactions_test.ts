/** What implications compute, what they are refused for, and what bounds them. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { CompiledReactions } from "../../../src/domain/reaction/action.ts";
import { newReactionWork } from "../../../src/domain/reaction/compile_reactions.ts";
import { GOLDEN, testGolden } from "./golden.ts";
import { compileExample, completeEvent } from "./worked_example.ts";

for (const subject of GOLDEN.keys()) testGolden(subject);

function mustCompile(implications: JsonValue): CompiledReactions {
  const compiled = compileExample(implications);
  ok(compiled.ok, JSON.stringify(compiled));
  return compiled.reactions;
}

function emit(data: JsonValue, id: JsonValue = "global"): JsonObject {
  return { aggregate_type: "customer", id, event_type: "was_credited", data };
}

/** Data whose JSON text has this many bytes: `{"text":"..."}`. */
function dataOf(bytes: number): JsonObject {
  return { text: "x".repeat(bytes - 11) };
}

Deno.test("an implied event refers to what its trigger has, for nobody changes either", () => {
  const event = completeEvent({ data: { lines: [{ sku: "TEA" }] } });
  const whole = emit({ sold: "$.data.lines", all: { $merge: ["$.data", { b: 1 }] } });
  const { actions } = mustCompile([{ emit: whole }, { emit: emit("$.data") }])(event);
  const [first, second] = actions.map(({ emission }) => emission.data);
  strictEqual(first!["sold"], event.data["lines"]);
  strictEqual((first!["all"] as JsonObject)["lines"], event.data["lines"]);
  strictEqual(second, event.data);
  deepStrictEqual(event.data, { lines: [{ sku: "TEA" }] }, "a merge changes none of its parts");
});

Deno.test("data of 102,400 bytes may be implied, and one byte more may not", () => {
  const reactions = mustCompile([{ emit: emit("$.data") }]);
  const fits = dataOf(limits.eventDataBytesMax);
  strictEqual(JSON.stringify(fits).length, 102_400);
  strictEqual(reactions(completeEvent({ data: fits })).actions.length, 1);
  const tooLarge = reactions(completeEvent({ data: dataOf(limits.eventDataBytesMax + 1) }));
  deepStrictEqual(tooLarge.actions, []);
  ok(tooLarge.failures[0]!.message.startsWith("emit.data exceeds 102400 bytes"));
});

Deno.test("bytes of implied data are bytes of UTF-8", () => {
  const reactions = mustCompile([{ emit: emit("$.data") }]);
  const { failures } = reactions(completeEvent({ data: { text: "é".repeat(60_000) } }));
  strictEqual(failures.length, 1);
});

Deno.test("implied data nests at most as deep as data that is sent", () => {
  function nested(levels: number): JsonObject {
    let value: JsonValue = 1;
    for (let level = 0; level < levels; level++) value = { a: value };
    return value as JsonObject;
  }
  const reactions = mustCompile([{ emit: emit({ deeper: "$.data" }) }]);
  strictEqual(
    reactions(completeEvent({ data: nested(limits.jsonDepthMax - 1) })).actions.length,
    1,
  );
  const { failures } = reactions(completeEvent({ data: nested(limits.jsonDepthMax) }));
  ok(failures[0]!.message.startsWith("emit.data nests deeper than 64 levels"));
});

Deno.test("computing stops as soon as there are more actions than one write may have", () => {
  const reactions = mustCompile([{ map: { in: "$.data.ids", emit: emit({}, "$item") } }]);
  const exact = Array.from({ length: limits.implicationActionsMax }, () => "global");
  strictEqual(reactions(completeEvent({ data: { ids: exact } })).actions.length, 10_000);
  const { actions, failures } = reactions(completeEvent({ data: { ids: [...exact, ...exact] } }));
  strictEqual(actions.length, limits.implicationActionsMax + 1);
  deepStrictEqual(failures, []);
});

Deno.test("computing stops as soon as the actions are larger than one write may store", () => {
  const reactions = mustCompile([{ map: { in: "$.data.ids", emit: emit("$.data") } }]);
  const ids = Array.from({ length: 5_000 }, () => "global");
  const { actions, failures } = reactions(completeEvent({ data: { ids } }));
  const bytes = actions.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
  ok(bytes > limits.writeStoredBytesMax && bytes < limits.writeStoredBytesMax + 200_000);
  deepStrictEqual(failures, []);
});

Deno.test("an entry that would copy without end fails; what came before it stays", () => {
  const many = Array.from({ length: 5_000 }, () => "$.data");
  const reactions = mustCompile([{ emit: emit({ n: 1 }) }, { emit: emit({ many }) }]);
  const { actions, failures } = reactions(completeEvent({ data: dataOf(100_000) }));
  strictEqual(actions.length, 1);
  deepStrictEqual(failures.map(({ path }) => path), ["implications[1]"]);
  ok(failures[0]!.message.includes("more work than a template, an event or a write may"));
});

Deno.test("what computes much rests between its parts, and gives what it gives at once", () => {
  const ids = Array.from({ length: 30_000 }, (_, index) => index % 100 === 0 ? { x: index } : 0);
  const map = { map: { in: "$.data.ids", emit: emit({ x: "$item.x?" }) } };
  const pipeline = Array.from({ length: 20 }, () => ({ emit: emit("$.data") }));
  const reactions = mustCompile([map, { condition: { eq: [1, 1] }, pipeline }]);
  const event = completeEvent({ data: { ids } });
  const steps = reactions.steps(event);
  let rests = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) rests++;
  ok(rests > 1, `${rests} rests`);
  deepStrictEqual(step.value, reactions(event));
  const { actions, failures } = step.value;
  deepStrictEqual([actions.length, failures], [300 + 20, []]);
  const found = actions.slice(0, 300).map((each) => each.kind === "emit" && each.emission.data.x);
  deepStrictEqual(found, Array.from({ length: 300 }, (_, index) => 100 * index));
});

Deno.test("what computes little never rests", () => {
  const steps = mustCompile([{ emit: emit("$.data") }]).steps(completeEvent({}));
  strictEqual(steps.next().done, true);
});

Deno.test("the events of one write share their work: when it is spent, the rest fails", () => {
  const reactions = mustCompile([{ emit: emit("$.data") }]);
  const event = completeEvent({ data: dataOf(100_000) });
  const work = newReactionWork();
  let failed = 0;
  for (let index = 0; index < 2_000; index++) failed += reactions(event, work).failures.length;
  const computed = 2_000 - failed;
  ok(computed > 1_000 && computed < limits.reactionWorkBytesMax / 100_000, `${computed}`);
  strictEqual(reactions(event).failures.length, 0);
});

Deno.test("a map whose elements all come to nothing ends as well", () => {
  const ids = Array.from({ length: 30_000 }, () => 0);
  const entry = { map: { in: "$.data.ids", emit: emit({ a: "$item.x?" }) } };
  const reactions = mustCompile(Array.from({ length: limits.implicationEntriesMax }, () => entry));
  const { actions, failures } = reactions(completeEvent({ data: { ids } }));
  deepStrictEqual(actions, []);
  ok(failures.length > 0 && failures.length <= limits.implicationEntriesMax);
});

Deno.test("compileReactions() tells which events it names and which it waits for", () => {
  const order = { aggregate_type: "order", id: "$.key", event_type: "was_paid" };
  const compiled = compileExample([
    { emit: emit({}) },
    { emit: { ...emit({}), event_type: "$.data.type" } },
    {
      schedule: { delay: "1h", emit: { ...order, event_type: "was_reminded" }, cancel_on: [order] },
    },
    { pipeline: [{ emit: emit({}) }] },
  ]);
  ok(compiled.ok);
  deepStrictEqual([...compiled.watched], ["order.was_paid"]);
  const credited = { aggregateType: "customer", eventType: "was_credited", scheduled: false };
  deepStrictEqual(compiled.named, [
    { path: "implications[0]", ...credited },
    {
      path: "implications[2]",
      aggregateType: "order",
      eventType: "was_reminded",
      scheduled: true,
    },
    { path: "implications[3].pipeline[0]", ...credited },
  ]);
});

Deno.test("compileReactions() reports no more faults than an answer lists, give or take an entry", () => {
  const entry = { pipeline: Array.from({ length: limits.pipelineStepsMax }, () => ({})) };
  const compiled = compileExample(Array.from({ length: 100 }, () => entry));
  ok(!compiled.ok && compiled.violations.length <= limits.violationsMax + limits.pipelineStepsMax);
});
