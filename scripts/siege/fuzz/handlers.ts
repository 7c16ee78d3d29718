/** Makes handlers that are slow to run, from every operation, predicate and path. */

import type { Json } from "../attack.ts";
import { repeat } from "../documents.ts";
import { FIELDS } from "./shapes.ts";
import type { Random } from "./random.ts";

const STEPS = ["", "", "[*]", "[*][*]", "[0]", ".a", "[*].a"] as const;
/** Roughly the values of one handler; a definition may have 20,000. */
const VALUES_MAX = 12_000;

export function randomHandler(random: Random, scale: number): Json {
  const unit = randomOperation(random, 3, []);
  const weight = JSON.stringify(unit).length / 8;
  const copies = random.size(Math.max(1, Math.floor(VALUES_MAX * scale / weight)));
  return repeat(
    Math.min(copies, 1_500),
    (at) => at % 7 === 3 ? randomOperation(random, 1, []) : unit,
  );
}

/** `names` are the names bound at this point. */
function randomOperation(random: Random, depth: number, names: readonly string[]): Json {
  const target = random.pick(FIELDS);
  const value = () => randomTemplate(random, names, 2);
  const where = () => randomWhere(random, names);
  const key = random.pick(["a", "k"]);
  const inner = () => randomOperation(random, depth - 1, names);
  const choices: (() => Json)[] = [
    () => ({ set: { target, value: value() } }),
    () => ({ merge: { target: random.pick([target, "map"]), value: value() } }),
    () => ({ increment: { target } }),
    () => ({ decrement: { target, by: value() } }),
    () => ({ remove: { target: random.pick([target, `${target}[0]`, "list[0]"]) } }),
    () => ({ remove: { target: "list", where: where() } }),
    () => ({ append: { target: "list", value: value() } }),
    () => ({ append_unique: { target, value: value(), ...(random.chance(50) ? { key } : {}) } }),
    () => ({ upsert: { target, key, value: { [key]: value(), n: 1 } } }),
    () => ({ filter: { target, where: where() } }),
    () => ({
      update_where: {
        target,
        where: where(),
        value: randomTemplate(random, [...names, "item"], 2),
      },
    }),
    () => ({ map: { target, value: randomTemplate(random, [...names, "item"], 2) } }),
    () => ({ set_at: { target: "map", key: "$.data.text", value: value() } }),
    () => ({ merge_at: { target: "map", key: "k", value: value() } }),
    () => ({ remove_at: { target: "map", key: "f7" } }),
    () => ({ increment_at: { target: "map", key: "k", by: value() } }),
  ];
  const nested: (() => Json)[] = [
    () => ({ if: randomPredicate(random, names, 2), then: inner(), else: inner() }),
    () => {
      const name = `n${names.length}`;
      return {
        let: { [name]: value() },
        then: randomOperation(random, depth - 1, [...names, name]),
      };
    },
  ];
  return random.pick(depth > 0 ? [...choices, ...nested, ...nested] : choices)();
}

export function randomPredicate(random: Random, names: readonly string[], depth: number): Json {
  const operand = () => randomTemplate(random, names, 1);
  const name = random.pick([
    "eq",
    "ne",
    "gt",
    "gte",
    "lt",
    "lte",
    "in",
    "not_in",
    "exists",
    "and",
    "or",
    "not",
  ]);
  const inner = () => randomPredicate(random, names, depth - 1);
  switch (name) {
    case "exists":
      return { exists: randomPath(random, names) };
    case "and":
    case "or":
      return depth === 0
        ? { eq: [operand(), operand()] }
        : { [name]: repeat(random.size(8), inner) };
    case "not":
      return depth === 0 ? { ne: [operand(), operand()] } : { not: inner() };
    default:
      return { [name]: [operand(), operand()] };
  }
}

function randomWhere(random: Random, names: readonly string[]): Json {
  if (random.chance(40)) return { a: randomTemplate(random, names, 0), "k.a": 1 };
  return randomPredicate(random, [...names, "item"], 1);
}

function randomTemplate(random: Random, names: readonly string[], depth: number): Json {
  const inner = () => randomTemplate(random, names, depth - 1);
  const choices: (() => Json)[] = [
    () => randomPath(random, names),
    () => randomPath(random, names),
    () => randomPath(random, names),
    () => random.pick([0, 1, null, "x", -1, "a".repeat(500)]),
  ];
  if (depth > 0) {
    choices.push(
      () => ({ a: inner(), b: inner() }),
      () => repeat(random.size(6), inner),
      () => ({ $merge: repeat(1 + random.size(6), inner) }),
    );
  }
  return random.pick(choices)();
}

function randomPath(random: Random, names: readonly string[]): string {
  const field = random.pick(FIELDS);
  const roots = [
    "@",
    `@.${field}`,
    `@.${field}`,
    "$.data",
    `$.data.${field}`,
    ...names.map((name) => `$${name}`),
  ];
  const root = random.pick(roots);
  return `${root}${root === "@" ? "" : random.pick(STEPS)}`;
}
