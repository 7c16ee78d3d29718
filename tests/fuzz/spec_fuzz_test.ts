/**
 * Specs that are nearly right. Compiling any of them ends in a spec or in faults that name
 * their place and the remedy; an accepted spec never fails on an event.
 */

import assert from "node:assert/strict";
import type { StoredEvent } from "../../src/domain/event.ts";
import { newFoldBudget } from "../../src/domain/handler/budget.ts";
import { fold } from "../../src/domain/handler/fold.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/domain/json.ts";
import type { CompiledSpec } from "../../src/domain/spec/compiled.ts";
import { compileSpec } from "../../src/domain/spec/compile.ts";
import { createRandom, type Random } from "../crash/random.ts";
import { specVersion } from "../differential/trace_spec.ts";
import { worldSpec as worldInEndToEnd } from "../end_to_end/world_spec.ts";
import { worldSpec } from "../simulation/world_spec.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { specWith } from "../support/listener_fixtures.ts";
import { reactiveSpec } from "../support/reactive_spec.ts";
import { mutateJson } from "./json_mutations.ts";
import { fuzzRun } from "./seeds.ts";

const LISTENERS = specWith({
  hook: { url: "https://hooks.example.com/", secret: "a secret of some length", events: ["*"] },
});
const SPECS: readonly JsonObject[] = [
  exampleSpec,
  reactiveSpec,
  worldInEndToEnd,
  worldSpec(1, false),
  worldSpec(2, true),
  specVersion(1),
  specVersion(2, true),
  LISTENERS,
];
const DATA: readonly JsonObject[] = [
  {},
  { text: "x", id: "global", ids: ["global", 1], count: 1, amount: -1, lines: [{ qty: 1 }] },
];

Deno.test("a spec is accepted or refused with places and reasons, and then never fails an event", () => {
  const { seed, cases } = fuzzRun(1_000);
  const random = createRandom(seed);
  let accepted = 0;
  for (let number = 0; number < cases; number++) {
    const document = mutateJson(random, random.pick(SPECS));
    try {
      if (judge(random, document)) accepted++;
    } catch (error) {
      const text = JSON.stringify(document);
      throw new Error(`seed ${seed}, case ${number}: ${text}`, { cause: error });
    }
  }
  assert.ok(accepted > cases / 50, `hardly any spec was accepted: ${accepted}`);
  assert.ok(accepted < cases / 2, `hardly any spec was refused: ${cases - accepted}`);
});

/** Returns whether it was accepted. */
function judge(random: Random, document: JsonValue): boolean {
  const before = JSON.stringify(document);
  const compiled = compileSpec(document);
  assert.equal(JSON.stringify(document), before, "the document was changed");
  if (compiled.ok) {
    const again = compileSpec(JSON.parse(before));
    assert.ok(
      again.ok && again.spec.hash === compiled.spec.hash,
      "the same document, another spec",
    );
    for (const data of [...DATA, randomData(random)]) writeEvents(compiled.spec, data);
    return true;
  }
  assert.ok(compiled.violations.length > 0, "refused without a reason");
  for (const { rule, path, message, hint } of compiled.violations) {
    assert.match(rule, /^[a-z_]+$/);
    assert.ok(message.length > 0 && hint.length > 0, `${rule} at '${path}'`);
    assert.ok(message.length < 2_000 && path.length < 10_000, "a message without a limit");
  }
  return false;
}

function randomData(random: Random): JsonObject {
  const data = mutateJson(random, DATA[1]!);
  return isJsonObject(data) ? data : { data };
}

/** Validates, folds and reacts to one event of each type. */
function writeEvents(spec: CompiledSpec, data: JsonObject): void {
  for (const { name, events, handlers } of spec.aggregateTypes.values()) {
    for (const type of events.values()) {
      const faults = type.validateData(data);
      for (const { path } of faults) assert.ok(path === "data" || path.startsWith("data."), path);
      const event = {
        key: `${name}:global`,
        type: type.name,
        data,
        metadata: { actor: { type: "user", id: "global" }, timestamp: 1 },
      } as unknown as StoredEvent;
      const folded = fold(handlers, {}, [event, event], newFoldBudget());
      assert.ok(folded.ok || folded.refusal.kind === "fold_budget_exceeded");
      const first = folded.ok ? JSON.stringify(folded.value) : "";
      const again = fold(handlers, {}, [event, event], newFoldBudget());
      assert.equal(again.ok ? JSON.stringify(again.value) : "", first, "folds differ");
      type.reactions?.(event);
    }
  }
}
