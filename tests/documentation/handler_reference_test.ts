/**
 * Keeps docs/reference/handlers.md, expressions.md and recipes.md true: every operation, predicate
 * and rule is there, and every `json` block is an example of one fixed shape that is executed.
 */

import assert from "node:assert/strict";
import type { StoredEvent } from "../../src/domain/event.ts";
import { newFoldBudget } from "../../src/domain/handler/budget.ts";
import { compileHandler } from "../../src/domain/handler/compile_handler.ts";
import { fold } from "../../src/domain/handler/fold.ts";
import { OPERATION_NAMES } from "../../src/domain/handler/operations.ts";
import { PREDICATE_NAMES } from "../../src/domain/handler/predicate.ts";
import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { type FencedBlock, fencedBlocks, readText, sectionOf, tableRows } from "./markdown.ts";

interface Folded {
  readonly handler: JsonValue;
  readonly before: JsonObject;
  /** One of the two. */
  readonly event?: Partial<StoredEvent>;
  readonly events?: readonly Partial<StoredEvent>[];
  readonly after: JsonObject;
}

interface Refused {
  readonly handler: JsonValue;
  /** All violations, in order. */
  readonly refused: readonly { readonly rule: string; readonly path: string }[];
}

const SHAPES = ["handler,before,event,after", "handler,before,events,after", "handler,refused"];
const REFERENCE = readText("docs/reference/handlers.md");
const EXPRESSIONS = readText("docs/reference/expressions.md");
const BLOCKS = fencedBlocks(REFERENCE);
const EXAMPLES = ["handlers", "expressions", "recipes"].flatMap((page) =>
  fencedBlocks(readText(`docs/reference/${page}.md`)).filter(({ language }) => language === "json")
    .map((block) => ({ ...block, page }))
);
/** What the reference says an event has where an example leaves it out. */
const DEFAULT_EVENT: StoredEvent = JSON.parse(
  BLOCKS.find(({ language }) => language === "text")!.text,
);

function parseExample({ text, line }: FencedBlock): Folded | Refused {
  const example = JSON.parse(text);
  const shape = Object.keys(example).join(",");
  assert.ok(SHAPES.includes(shape), `line ${line} has the fields ${shape}`);
  return example;
}

function runExample({ handler: definition, before, event, events, after }: Folded): void {
  const compiled = compileHandler(definition, "handler");
  assert.ok(compiled.ok, JSON.stringify(compiled));
  const complete = (events ?? [event!]).map((each) => ({ ...DEFAULT_EVENT, ...each }));
  const handlers = new Map(complete.map(({ type }) => [type, compiled.handler]));
  const outcome = fold(handlers, before, complete, newFoldBudget());
  // As text: that is what is stored, and the order of keys is part of it.
  assert.equal(JSON.stringify(outcome.ok && outcome.value), JSON.stringify(after));
}

function runRefused({ handler, refused }: Refused): void {
  const compiled = compileHandler(handler, "handler");
  assert.ok(!compiled.ok, "it was accepted");
  assert.deepEqual(compiled.violations.map(({ rule, path }) => ({ rule, path })), refused);
}

for (const block of EXAMPLES) {
  Deno.test(`the example on line ${block.line} of ${block.page}.md gives what it states`, () => {
    const example = parseExample(block);
    if ("refused" in example) runRefused(example);
    else runExample(example);
  });
}

/** Every key anywhere in the handlers of the examples that are executed. */
function namesInExamples(): Set<string> {
  const names = new Set<string>();
  JSON.stringify(
    EXAMPLES.map((block) => {
      const example = parseExample(block);
      return "refused" in example ? [] : example.handler;
    }),
    (key, value) => {
      names.add(key);
      return value;
    },
  );
  return names;
}

Deno.test("the handler reference has an example of every operation and every predicate", () => {
  const names = namesInExamples();
  for (const name of [...OPERATION_NAMES, ...PREDICATE_NAMES]) {
    assert.ok(names.has(name), `no example has ${name}`);
  }
});

Deno.test("the handler reference explains every operation and predicate in its tables", () => {
  const tables = [sectionOf(REFERENCE, "## Operations"), sectionOf(EXPRESSIONS, "## Predicates")]
    .map((section) => tableRows(section).map(([name]) => name).join(" "));
  for (const name of OPERATION_NAMES) assert.ok(tables[0]!.includes(`\`${name}\``), name);
  for (const name of PREDICATE_NAMES) assert.ok(tables[1]!.includes(`\`${name}\``), name);
});

Deno.test("the handler reference names every rule by which a deploy refuses a handler", () => {
  const folder = new URL("../../src/domain/handler/", import.meta.url);
  const rules = new Set<string>();
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".ts")) continue;
    const source = readText(`src/domain/handler/${name}`);
    const found = source.matchAll(
      /(?:addFault\((?:[^()"]|\([^()]*\))*|rule: )"([a-z]+(?:_[a-z]+)+)"|"((?:target|field)_invalid)"/g,
    );
    for (const [, rule, other] of found) rules.add(rule ?? other!);
  }
  assert.ok(rules.size >= 15, `the rules are found: ${[...rules]}`);
  const listed = sectionOf(REFERENCE, "## What deploy refuses");
  for (const rule of rules) assert.ok(listed.includes(`\`${rule}\``), rule);
});
