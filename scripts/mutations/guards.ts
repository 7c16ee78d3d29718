/** Bugs in guards and preconditions. */

import { changesOf, type Mutation } from "./mutation.ts";

const GUARDS = "tests/features/writes/judge_guards_test.ts";
const REACTIONS = "tests/features/reactions/guarded_reactions_test.ts";
const HISTORY = "tests/history/history_test.ts";
const SPECS = "tests/domain/spec/compile_test.ts";

export const GUARD_MUTATIONS: readonly Mutation[] = [
  ...changesOf("src/features/writes/live_states.ts", GUARDS, [
    [
      "a guard is judged on a state from before the writes of its transaction",
      "if (from === added.length) return true;",
      "if (from <= added.length) return true;",
      HISTORY,
    ],
    [
      "another aggregate that a guard looks at is not guarded",
      "? readHead(tx, tenant, key).then(",
      "? readHead(tx.unguarded, tenant, key).then(",
    ],
    [
      "states that take long are judged as if they were empty",
      "if (fold === undefined) return Promise.reject(new StatesNeeded([{ key, type }]));",
      "if (fold === undefined) fold = () => ({ state: {}, characters: 0 });",
    ],
    [
      "of two states that take long, one ends the process",
      "if (fold === undefined) return Promise.reject(new StatesNeeded([{ key, type }]));",
      "if (fold === undefined) throw new StatesNeeded([{ key, type }]);",
    ],
    [
      "later events of a batch are judged on the state before it",
      ": place.event;",
      ": 0;",
    ],
    [
      "targets are judged on what later targets will leave",
      "target === undefined || at > place.target",
      "target === undefined",
    ],
  ]),
  ...changesOf("src/features/writes/outside_states.ts", GUARDS, [
    [
      "guards look at states of any length",
      "stateJson.length > limits.guardStateCharactersMax",
      "stateJson.length > 100 * limits.guardStateCharactersMax",
    ],
  ]),
  ...changesOf("src/features/writes/judge_guards.ts", GUARDS, [
    [
      "only the first guard of an event is judged",
      "for (const [number, guard] of guards.entries()) {",
      "for (const [number, guard] of guards.slice(0, 1).entries()) {",
    ],
    [
      "a guard holds where an id is none",
      "const holds = others.value !== undefined &&",
      "const holds = others.value === undefined ||",
    ],
    [
      "a write may look at any number of others",
      "if (others.size > limits.guardOthersMax)",
      "if (others.size > 10 * limits.guardOthersMax)",
    ],
    [
      "writes to one aggregate wait together for the states of each",
      "if (error instanceof StatesNeeded && scene.judged > 1)",
      "if (error instanceof StatesNeeded && scene.judged > 1_000)",
    ],
    [
      "guards come before preconditions",
      "return failed ?? (yield* judgeEvents(judging));",
      "return (yield* judgeEvents(judging)) ?? failed;",
    ],
  ]),
  ...changesOf("src/features/specs/judge_past.ts", "tests/features/specs/check_data_test.ts", [
    [
      "stored events are judged on the states behind them",
      "const failed: NamedGuard[] = [];",
      "const failed: NamedGuard[] = [];\n" +
      "    const before = handlers.get(event.type);\n" +
      "    if (before !== undefined) state = before(state, event, budget);",
    ],
    [
      "events whose guards look at a long aggregate count as judged",
      "if (holds === undefined) draft.leaveOut();",
      "if (holds === undefined) judged++;",
    ],
  ]),
  ...changesOf("src/domain/handler/guard.ts", "tests/domain/handler/guard_test.ts", [
    [
      "stored events are judged on what others did in their second only",
      "(others.length === 0 ? [true] : [true, false])",
      "(others.length === 0 ? [true] : [false])",
    ],
  ]),
  ...changesOf("src/domain/write/precondition.ts", GUARDS, [
    [
      "a precondition holds for any length",
      "if (expected.length === length) return undefined;",
      "if (expected.length <= length) return undefined;",
    ],
    [
      "a precondition says that what exists does not",
      "if (expected.exists === length > 0) return undefined;",
      "if (expected.exists === length > 1) return undefined;",
    ],
  ]),
  ...changesOf("src/features/writes/prepare_reactions.ts", REACTIONS, [
    [
      "implied events are written with their triggers, guards or not",
      "if (wasmHandlers.size > 0 || guarded?.has(emission.eventType)) return undefined;",
      "if (wasmHandlers.size > 0 && guarded !== undefined) return undefined;",
    ],
  ]),
  ...changesOf("src/domain/spec/guards.ts", GUARDS, [
    [
      "where a guard finds another aggregate by the state of its own, it finds none",
      `JSON.stringify(definition).includes("@")`,
      `JSON.stringify(definition.require).includes("@")`,
    ],
    [
      "a guard that does not look at its own state waits for it",
      `JSON.stringify(definition).includes("@")`,
      "JSON.stringify(definition).length > 0",
    ],
  ]),
  ...changesOf("src/domain/spec/guards.ts", SPECS, [
    [
      "any number of guards may be declared",
      "if (definition.length > limits.guardsMax) {",
      "if (definition.length > 10 * limits.guardsMax) {",
    ],
    [
      "an id that is none is deployed",
      "if (!isPath && !isId) {",
      "if (!isPath && !isId && terms.types.length < 0) {",
    ],
  ]),
];
