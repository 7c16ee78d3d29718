/**
 * Keeps docs/reference/sagas.md true: every `json` block is a definition that is compiled, a story
 * of the definition before it that is told, or a definition that is refused. Rules, states and
 * limits that it names are those of the code.
 */

import assert from "node:assert/strict";
import { runAtOnce } from "../../src/domain/fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import type { CompiledSaga } from "../../src/domain/saga/definition.ts";
import { SAGA_STATES } from "../../src/domain/saga/instance.ts";
import { startSaga } from "../../src/domain/saga/step.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";
import {
  declareTypes,
  describeEffect,
  describeHistory,
  placed,
  type StoryLine,
  tellStory,
} from "../support/saga_stories.ts";
import { fencedBlocks, readText, sectionOf, tableRows } from "./markdown.ts";

const REFERENCE = readText("docs/reference/sagas.md");
const BLOCKS = fencedBlocks(REFERENCE).filter(({ language }) => language === "json");
const START_MS = 1_700_000_000_000;

interface Example {
  readonly sagas?: Record<string, JsonObject>;
  readonly refused?: readonly { readonly rule: string; readonly path: string }[];
  readonly trigger?: { readonly key: string; readonly type: string; readonly data: JsonObject };
  readonly story?: readonly StoryLine[];
  readonly history?: readonly string[];
}

function compile(sagas: Record<string, JsonObject>) {
  const types = Object.values(sagas).map(declareTypes);
  return compileSpec({
    aggregate_types: Object.assign({}, ...types) as JsonValue,
    agent_types: ["user"],
    singletons: ["stock"],
    modules: { sagas },
  });
}

let saga: CompiledSaga | undefined;
for (const { text, line } of BLOCKS) {
  const example = JSON.parse(text) as Example;
  const shape = Object.keys(example).join(",");
  if (shape === "sagas,refused") {
    Deno.test(`the sagas at line ${line} of the reference are refused as it says`, () => {
      const compiled = compile(example.sagas!);
      assert.ok(!compiled.ok);
      const violations = compiled.violations.map(({ rule, path }) => ({ rule, path }));
      assert.deepEqual(violations, example.refused);
    });
    continue;
  }
  if (shape === "sagas") {
    const compiled = compile(example.sagas!);
    assert.ok(compiled.ok, JSON.stringify(compiled));
    assert.deepEqual(compiled.warnings, []);
    [saga] = compiled.spec.sagas.values();
    continue;
  }
  assert.equal(shape, "trigger,story,history", `line ${line}`);
  const told = saga!;
  Deno.test(`the story at line ${line} of the reference is what happens`, () => {
    const { key, type, data } = example.trigger!;
    const trigger = placed(key, type, data);
    assert.ok(told.trigger.holds(trigger.event));
    const begun = runAtOnce(startSaga(told, "s1", trigger, START_MS));
    const [first, ...lines] = example.story!;
    const effects = begun.effects.map((effect) => describeEffect(effect, START_MS));
    assert.deepEqual(effects, first!.effects);
    const { history } = tellStory(told, begun, lines, START_MS).instance;
    assert.deepEqual(history.map((entry) => describeHistory(entry, START_MS)), example.history);
  });
}

Deno.test("the reference has every state and every limit of sagas", () => {
  const states = tableRows(sectionOf(REFERENCE, "## States")).map(([state]) => state);
  assert.deepEqual(states, SAGA_STATES.map((state) => `\`${state}\``));
  const section = sectionOf(REFERENCE, "## Limits");
  for (const max of [limits.sagasMax, limits.sagaStepsMax, limits.sagaCompensationTriesMax]) {
    assert.ok(section.includes(`| ${max} |`));
  }
  assert.ok(section.includes(`of both kinds | ${limits.sagaAwaitEventsMax} |`));
  assert.ok(REFERENCE.includes(limits.sagaTimeoutMsMax.toLocaleString("en")));
  assert.ok(REFERENCE.includes(limits.sagaTimeoutMsDefault.toLocaleString("en")));
});

Deno.test("the reference names every rule that golden cases of sagas have", () => {
  const golden = JSON.parse(readText("tests/golden/spec/invalid_sagas.json"));
  const known = REFERENCE + readText("docs/reference/handlers.md") +
    readText("docs/reference/expressions.md");
  for (const { rule } of golden as { rule: string }[]) {
    assert.ok(known.includes(`\`${rule}\``), rule);
  }
});
