/**
 * Keeps docs/reference/reactions.md true: every kind of entry and every rule is there, the limits
 * are the limits, and every `json` block is an example of one fixed shape that is executed.
 */

import assert from "node:assert/strict";
import type { StoredEvent } from "../../src/domain/event.ts";
import type { JsonValue } from "../../src/domain/json.ts";
import { limits } from "../../src/domain/limits.ts";
import { ENTRY_KINDS } from "../../src/domain/reaction/entry.ts";
import {
  compileExample,
  completeEvent,
  showActions,
  TERMS,
} from "../domain/reaction/worked_example.ts";
import { type FencedBlock, fencedBlocks, readText, sectionOf, tableRows } from "./markdown.ts";

interface Computed {
  readonly implications: JsonValue;
  readonly event: Partial<StoredEvent>;
  readonly actions: readonly JsonValue[];
  /** Paths of the entries that fail. */
  readonly failures?: readonly string[];
}

interface Refused {
  readonly implications: JsonValue;
  /** All violations, in order. */
  readonly refused: readonly { readonly rule: string; readonly path: string }[];
}

const SHAPES = [
  "implications,event,actions",
  "implications,event,actions,failures",
  "implications,refused",
];
const REFERENCE = readText("docs/reference/reactions.md");
const BLOCKS = fencedBlocks(REFERENCE);
const EXAMPLES = BLOCKS.filter(({ language }) => language === "json");

function parseExample({ text, line }: FencedBlock): Computed | Refused {
  const example = JSON.parse(text);
  const shape = Object.keys(example).join(",");
  assert.ok(SHAPES.includes(shape), `line ${line} has the fields ${shape}`);
  return example;
}

for (const block of EXAMPLES) {
  Deno.test(`the implication reference's example on line ${block.line} gives what it states`, () => {
    const example = parseExample(block);
    const compiled = compileExample(example.implications);
    if ("refused" in example) {
      const found = compiled.ok ? [] : compiled.violations;
      assert.deepEqual(found.map(({ rule, path }) => ({ rule, path })), example.refused);
      return;
    }
    assert.ok(compiled.ok, JSON.stringify(compiled));
    const { actions, failures } = compiled.reactions(completeEvent(example.event));
    // As text: the order of keys in data is part of what is stored.
    assert.equal(JSON.stringify(showActions(actions)), JSON.stringify(example.actions));
    assert.deepEqual(failures.map(({ path }) => path), example.failures ?? []);
  });
}

Deno.test("the implication reference's default event is the one its examples are run with", () => {
  const text = BLOCKS.find(({ language }) => language === "text")!.text;
  assert.deepEqual(JSON.parse(text), completeEvent({}));
});

Deno.test("the implication reference names the types and singletons its examples are run with", () => {
  const section = sectionOf(REFERENCE, "## How to read the examples");
  for (const [type, events] of TERMS.declared) {
    for (const name of [type, ...events]) assert.ok(section.includes(`\`${name}\``), name);
  }
  for (const name of TERMS.singletons) if (name !== "global") assert.ok(section.includes(name));
});

Deno.test("the implication reference has a section and an example of every kind of entry", () => {
  const examples = EXAMPLES.map(({ text }) => text).join("\n");
  for (const kind of [...ENTRY_KINDS, "condition"]) {
    if (kind === "wasm") continue;
    assert.ok(REFERENCE.includes(`\n## ${kind}\n`), kind);
    assert.ok(examples.includes(`"${kind}":`), kind);
  }
});

Deno.test("the implication reference gives the limits that hold", () => {
  const rows = tableRows(sectionOf(REFERENCE, "## Limits")).map((row) => row.join(" ")).join("\n");
  const figures = [
    limits.implicationEntriesMax,
    limits.pipelineStepsMax,
    limits.cancelRulesMax,
    limits.implicationActionsMax,
    limits.writeStoredBytesMax,
    limits.eventDataBytesMax,
    limits.jsonDepthMax,
  ];
  for (const each of figures) assert.ok(rows.includes(each.toLocaleString("en-US")), `${each}`);
});

Deno.test("the implication reference names every rule by which a deploy refuses implications", () => {
  const rules = new Set<string>();
  const sources = ["src/domain/spec/implications.ts"];
  for (const { name } of Deno.readDirSync(new URL("../../src/domain/reaction/", import.meta.url))) {
    if (name.endsWith(".ts")) sources.push(`src/domain/reaction/${name}`);
  }
  for (const source of sources) {
    const found = readText(source).matchAll(
      /(?:addFault|faults\.add)\((?:[^()"]|\([^()]*\)|"(?![a-z]+_)[^"]*")*"([a-z]+(?:_[a-z]+)+)"/g,
    );
    for (const [, rule] of found) rules.add(rule!);
  }
  rules.delete("delay_ms");
  assert.ok(rules.size >= 12, `the rules are found: ${[...rules]}`);
  const listed = sectionOf(REFERENCE, "## What deploy refuses");
  for (const rule of rules) assert.ok(listed.includes(`\`${rule}\``), rule);
});
