/**
 * The saga as a state machine: readable stories (`tests/golden/sagas/`), and general
 * properties. The properties hold for any definition and any inputs.
 */

import assert from "node:assert/strict";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { CompiledSaga } from "../../../src/domain/saga/definition.ts";
import {
  isEndState,
  type SagaEffect,
  type SagaInstance,
  type SagaNews,
} from "../../../src/domain/saga/instance.ts";
import { startSaga, stepSaga } from "../../../src/domain/saga/step.ts";
import { compileKeptSaga } from "../../../src/domain/spec/sagas/saga.ts";
import {
  compileStory,
  describeEffect,
  describeHistory,
  placed,
  placedEmission,
  type StoryLine,
  tellStory,
} from "../../support/saga_stories.ts";

const START_MS = Date.UTC(2026, 0, 1);

interface Story {
  readonly name: string;
  readonly saga: JsonObject;
  readonly trigger: { readonly key: string; readonly type: string; readonly data: JsonObject };
  readonly effects: readonly string[];
  readonly story: readonly StoryLine[];
  readonly state: string;
  readonly history: readonly string[];
}

const folder = new URL("../../golden/sagas/", import.meta.url);
for (
  const { name: file } of [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1)
) {
  const golden = JSON.parse(Deno.readTextFileSync(new URL(file, folder))) as Story;
  Deno.test(`stepSaga(): ${golden.name}`, () => {
    const saga = compileStory(golden.saga);
    const { key, type, data } = golden.trigger;
    const begun = runAtOnce(startSaga(saga, "s1", placed(key, type, data), START_MS));
    const effects = begun.effects.map((effect) => describeEffect(effect, START_MS));
    assert.deepEqual(effects, golden.effects);
    const { instance } = tellStory(saga, begun, golden.story, START_MS);
    assert.equal(instance.state, golden.state);
    const history = instance.history.map((entry) => describeHistory(entry, START_MS));
    assert.deepEqual(history, golden.history);
  });
}

/** A saga of equal steps whose events have so many characters; tells how it ends. */
function runLarge(steps: number, characters: number) {
  const step = (number: number) => ({
    name: `s${number}`,
    emit: { aggregate_type: "work", id: "$.id", event_type: "was_done", data: "$.data" },
    compensate: { aggregate_type: "work", id: "$.id", event_type: "was_undone" },
  });
  const saga = compileStory({
    trigger: { aggregate_type: "order", event_type: "was_placed" },
    steps: Array.from({ length: steps }, (_, number) => step(number)),
  });
  const trigger = placed("order:o1", "was_placed", { text: "x".repeat(characters) });
  let { instance, effects } = runAtOnce(startSaga(saga, "s1", trigger, START_MS));
  while (!isEndState(instance.state)) {
    const emit = effects.find((effect) => effect.kind === "emit")!;
    const news = { kind: "written", written: placedEmission(emit.emission), nowMs: START_MS };
    ({ instance, effects } = runAtOnce(stepSaga(saga, instance, news as SagaNews)));
  }
  const count = (outcome: string) =>
    instance.history.filter((entry) => entry.outcome === outcome).length;
  return { instance, completed: count("completed"), undone: count("compensated") };
}

Deno.test("stepSaga(): a saga whose events fill a megabyte goes no further and is undone", () => {
  const { instance, completed, undone } = runLarge(50, 100_000);
  assert.deepEqual([instance.state, completed, undone], ["compensated", 11, 11]);
  const failed = instance.history.find(({ outcome }) => outcome === "failed")!;
  assert.equal(failed.step, "s11");
  assert.match(failed.reason!, /^the events of its steps have more than 1048576 characters/);
});

Deno.test("stepSaga(): fifty events of 20 KB, or eleven of 100 KB, are within the limit", () => {
  assert.deepEqual([runLarge(50, 20_000).completed, runLarge(11, 100_000).completed], [50, 11]);
});

for (const [heavy, outcome] of [[6, undefined], [9, "skipped"]] as const) {
  Deno.test(`startSaga(): a condition after ${heavy} that take long is ${outcome ?? "judged"}`, () => {
    const list = Array.from({ length: 12_000 }, () => ({}));
    const long = { and: Array.from({ length: 60 }, () => ({ eq: ["$.data.a", "$.data.b"] })) };
    const emit = { aggregate_type: "work", id: "$.id", event_type: "was_done" };
    const steps = Array.from({ length: heavy + 1 }, (_, at) => ({
      name: `s${at}`,
      condition: at < heavy ? long : { exists: "$.data.a" },
      else: "skip",
      emit,
    }));
    const trigger = { aggregate_type: "order", event_type: "was_placed" };
    const placedAt = placed("order:o1", "was_placed", { a: list, b: list.slice() });
    const begun = startSaga(compileStory({ trigger, steps }), "s1", placedAt, START_MS);
    const { instance: { history } } = runAtOnce(begun);
    assert.equal(history[heavy]?.outcome, outcome);
  });
}

/** Any saga of up to five steps; `$.data.flags` decides its conditions. */
const anySaga: fc.Arbitrary<JsonObject> = fc.array(
  fc.record({
    condition: fc.constantFrom("none", "flag", "prev"),
    skips: fc.boolean(),
    awaits: fc.constantFrom("no", "here", "elsewhere", "nowhere"),
    hasFailures: fc.boolean(),
    compensates: fc.constantFrom("no", "yes", "never"),
    badId: fc.boolean(),
    timeoutMs: fc.integer({ min: 1, max: limits.sagaTimeoutMsMax }),
  }),
  { minLength: 1, maxLength: 5 },
).map((shapes) => {
  const steps = shapes.map((shape, index): JsonObject => {
    const name = `s${index}`;
    const step: JsonObject = { name, emit: template(shape.badId ? "$.data.none" : "$.id", name) };
    if (shape.condition === "flag") step.condition = { eq: [`$.data.flags[${index}]`, true] };
    else if (shape.condition === "prev") {
      step.condition = index === 0 ? { exists: "$.data.flags" } : { ne: ["$prev.data.bad", true] };
    }
    if (step.condition !== undefined && shape.skips) step.else = "skip";
    if (shape.awaits !== "no") {
      step.await = {
        aggregate_type: "work",
        event_types: ["was_good"],
        ...(shape.hasFailures && { failure_types: ["was_bad"] }),
        ...(shape.awaits === "elsewhere" && { id: "c1" }),
        ...(shape.awaits === "nowhere" && { id: "$.data.none" }),
      };
      step.timeout_ms = shape.timeoutMs;
    }
    if (shape.compensates === "yes") step.compensate = template("$.id", `un${name}`);
    if (shape.compensates === "never") step.compensate = template("$.data.none", `un${name}`);
    return step;
  });
  return { trigger: { aggregate_type: "order", event_type: "was_placed" }, steps };
});

function template(id: string, name: string): JsonObject {
  return { aggregate_type: "work", id, event_type: name, data: { of: "$.data" } };
}

type Choice = "written" | "postponed" | "unwritten" | "good" | "bad" | "other" | "due" | "early";
/** Usually an input that fits, so that stories make progress. */
const anyChoice: fc.Arbitrary<Choice> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom<Choice>("written", "good") },
  { weight: 3, arbitrary: fc.constantFrom<Choice>("postponed", "due") },
  { weight: 2, arbitrary: fc.constantFrom<Choice>("unwritten", "bad", "other", "early") },
);

const anyRun = fc.record({
  definition: anySaga,
  flags: fc.array(fc.boolean(), { maxLength: 5 }),
  choices: fc.array(anyChoice, { maxLength: 40 }),
});
type Run = typeof anyRun extends fc.Arbitrary<infer T> ? T : never;

interface Told {
  readonly instance: SagaInstance;
  readonly effects: readonly SagaEffect[];
  readonly news: SagaNews | undefined;
}

/** Everything that happened, from the start. */
function tell(saga: CompiledSaga, { flags, choices }: Run): Told[] {
  const trigger = placed("order:o1", "was_placed", { flags: flags as JsonValue });
  const told: Told[] = [{
    ...runAtOnce(startSaga(saga, "s1", trigger, START_MS)),
    news: undefined,
  }];
  let nowMs = START_MS;
  for (const choice of choices) {
    const { instance, effects } = told.at(-1)!;
    const { waiting } = instance;
    if (choice === "due" && waiting && "dueMs" in waiting) nowMs = Math.max(nowMs, waiting.dueMs);
    const news = chooseNews(choice, instance, effects, nowMs);
    // What is stored is read back as JSON.
    const stored = JSON.parse(JSON.stringify(instance)) as SagaInstance;
    told.push({ ...runAtOnce(stepSaga(saga, stored, news)), news });
  }
  return told;
}

function chooseNews(
  choice: Choice,
  { waiting }: SagaInstance,
  effects: readonly SagaEffect[],
  nowMs: number,
): SagaNews {
  const key = waiting?.kind === "event" ? waiting.key : "work:o1";
  switch (choice) {
    case "postponed":
      return { kind: "postponed", nowMs };
    case "written": {
      const emit = effects.find((effect) => effect.kind === "emit");
      const written = emit ? placedEmission(emit.emission) : placed("work:o1", "was_good");
      return { kind: "written", written, nowMs };
    }
    case "unwritten":
      return { kind: "unwritten", reason: "no", nowMs };
    case "good":
      return { kind: "event", arrived: placed(key, "was_good"), nowMs };
    case "bad":
      return { kind: "event", arrived: placed(key, "was_bad", { bad: true }), nowMs };
    case "other":
      return { kind: "event", arrived: placed("work:p2", "was_good"), nowMs };
    case "due":
    case "early":
      return { kind: "timeout", nowMs };
  }
}

function property(name: string, check: (told: Told[], saga: CompiledSaga, run: Run) => void) {
  Deno.test(`stepSaga(): ${name}`, () => {
    fc.assert(
      fc.property(anyRun, (run) => {
        const saga = compileStory(run.definition);
        check(tell(saga, run), saga, run);
      }),
      { numRuns: 500 },
    );
  });
}

property("compensations are exactly the reverse of the completed steps", (told, saga) => {
  const { instance } = told.at(-1)!;
  const named = (outcome: string) =>
    instance.history.filter((entry) => entry.outcome === outcome).map(({ step }) => step);
  const failed = new Set(named("failed"));
  const canUndo = new Set(saga.steps.filter((step) => step.compensate).map(({ name }) => name));
  const expected = named("completed").filter((step) => !failed.has(step) && canUndo.has(step));
  const undone = named("compensated");
  assert.deepEqual(undone, expected.reverse().slice(0, undone.length));
  if (instance.state === "compensated") assert.equal(undone.length, expected.length);
  if (failed.size === 0) assert.deepEqual(undone, []);
});

property("nothing follows an end state", (told) => {
  const end = told.findIndex(({ instance }) => isEndState(instance.state));
  if (end === -1) return;
  assert.equal(told[end]!.effects.at(-1)!.kind, "done");
  for (const { instance, effects } of told.slice(end + 1)) {
    assert.deepEqual(effects, []);
    assert.deepEqual(instance, JSON.parse(JSON.stringify(told[end]!.instance)));
  }
});

property(
  "the same news always has the same effects, also under a kept definition",
  (told, saga, run) => {
    const kept = compileKeptSaga(JSON.parse(JSON.stringify(saga.kept)));
    assert.equal(kept.hash, saga.hash);
    assert.deepEqual(tell(kept, run), told);
  },
);

property("a saga that has not ended waits for something, and only such a one", (told) => {
  for (const { instance, effects } of told) {
    assert.equal(instance.waiting === undefined, isEndState(instance.state));
    assert.equal(instance.triggerEvent === undefined, isEndState(instance.state));
    const emits = effects.filter(({ kind }) => kind === "emit").length;
    assert.ok(emits <= 1);
    if (emits === 1) {
      assert.equal(effects.at(-1)!.kind, "emit");
      assert.equal(instance.waiting!.kind, "write");
    }
  }
});

property(
  "timers and waits are set once, cleared once, and belong to what is waited for",
  (told) => {
    const timers = new Set<number>();
    const waits = new Set<string>();
    for (const { instance, effects } of told) {
      for (const effect of effects) {
        if (effect.kind === "set_timer") timers.add(effect.dueMs);
        if (effect.kind === "clear_timer") assert.ok(timers.delete(effect.dueMs));
        if (effect.kind === "await") waits.add(`${effect.key} ${effect.eventTypes}`);
        if (effect.kind === "clear_waits") {
          assert.ok(waits.delete(`${effect.key} ${effect.eventTypes}`));
        }
      }
      const { waiting } = instance;
      assert.deepEqual([...timers], waiting && "dueMs" in waiting ? [waiting.dueMs] : []);
      const awaited = waiting?.kind === "event" ? [`${waiting.key} ${waiting.eventTypes}`] : [];
      assert.deepEqual([...waits], awaited);
    }
  },
);

property("each step is emitted once at most, and the history only grows", (told) => {
  const { instance } = told.at(-1)!;
  const emitted = instance.history.filter(({ outcome }) => outcome === "emitted");
  assert.equal(new Set(emitted.map(({ step }) => step)).size, emitted.length);
  for (const [index, { instance: later }] of told.entries()) {
    const before = told[index - 1]?.instance.history ?? [];
    assert.deepEqual(later.history.slice(0, before.length), before);
    assert.ok(later.history.length <= 2 + 12 * limits.sagaStepsMax);
  }
});
