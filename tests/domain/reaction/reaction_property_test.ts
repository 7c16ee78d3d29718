/**
 * Properties of implications over random entries and events. They never throw, stay within
 * their bounds, keep the order of their entries, change nothing and give the same result again.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { parseIdentifier } from "../../../src/domain/identifier.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Action, Emission } from "../../../src/domain/reaction/action.ts";
import { isTypeName } from "../../../src/domain/type_name.ts";
import { json, jsonObject } from "../handler/random_handler.ts";
import { compileExample, completeEvent, TERMS } from "./worked_example.ts";

const UUID = "9f1c2b7e-3d5a-4c8b-9e21-0a1b2c3d4e5f";
const ids = ["global", "main", "inventory", UUID, UUID.toUpperCase(), `${UUID}:a1`, "nobody", ""];
const path = fc.constantFrom(
  ...["$.data.a", "$.data.b", "$.data.c.id", "$.data.a[0]", "$.data.a[*].b", "$.data.__proto__"],
  ...["$.data", "$.key", "$.id", "$.type", "$.metadata.actor.id", "$.data.a?", "$.data.b.c?"],
);
const id = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("global", "main", "$.id", "$.data.id", "$.data.id?") },
  path,
);
const target = fc.constantFrom<[string, string]>(
  ["order", "was_paid"],
  ["stock", "was_reserved"],
  ["customer", "was_credited"],
  ["$.data.type", "$.data.event"],
  ["stock", "$.data.event?"],
);
const data = fc.oneof(
  path,
  fc.dictionary(fc.constantFrom("a", "b"), path, { maxKeys: 2, noNullPrototype: true }),
  fc.array(path, { minLength: 1, maxLength: 2 }).map((parts): JsonValue => ({ $merge: parts })),
);

function emitAmong(idOf: fc.Arbitrary<string>): fc.Arbitrary<JsonValue> {
  return fc.tuple(target, idOf, fc.option(data, { nil: undefined })).map(
    ([[aggregate_type, event_type], idText, dataTemplate]): JsonValue => {
      // The trigger's key can only name an order; elsewhere it is refused.
      const isForeign = idText === "$.key" && aggregate_type !== "order";
      const emit = { aggregate_type, id: isForeign ? "$.id" : idText, event_type };
      return dataTemplate === undefined ? emit : { ...emit, data: dataTemplate };
    },
  );
}

const emit = emitAmong(id);
const condition = fc.tuple(fc.constantFrom("eq", "ne", "gt", "in"), path, path).map(
  ([name, left, right]): JsonValue => ({ [name]: [left, right] }),
);
const cancelRule = id.map((text): JsonValue => (
  { aggregate_type: "order", id: text, event_type: "was_paid" }
));
const kind: fc.Arbitrary<{ [key: string]: JsonValue }> = fc.oneof(
  emit.map((each) => ({ emit: each })),
  fc.tuple(
    fc.oneof(fc.constant("$.data.a"), path),
    emitAmong(fc.constantFrom("$item", "$item.id", "$item?", "$.data.id")),
  ).map(
    ([list, each]) => ({ map: { in: list, emit: each } }),
  ),
  fc.tuple(
    fc.constantFrom("1s", "7d", "$.data.delay", "$.data.delay?"),
    emit,
    fc.array(cancelRule, { maxLength: 3 }),
  ).map(([delay, each, cancel_on]) => ({ schedule: { delay, emit: each, cancel_on } })),
  fc.array(emit.map((each): JsonValue => ({ emit: each })), { minLength: 1, maxLength: 3 }).map(
    (pipeline) => ({ pipeline }),
  ),
);
const entry = fc.tuple(kind, fc.oneof(fc.constant(undefined), condition)).map(
  ([fields, predicate]): JsonValue =>
    predicate === undefined ? fields : { ...fields, condition: predicate },
);
const entries = fc.array(entry, { maxLength: 5 });

const likelyData = fc.record({
  id: fc.constantFrom(...ids),
  type: fc.constantFrom("stock", "order", "Order", "a:b", ""),
  event: fc.constantFrom("was_paid", "_was_tombstoned", "x y"),
  delay: fc.constantFrom<JsonValue>("1s", "2h", "0s", "soon", 5),
  a: fc.array(fc.oneof(fc.constantFrom<JsonValue>(...ids), json), { maxLength: 4 }),
}, { requiredKeys: [] });
const event: fc.Arbitrary<StoredEvent> = fc.tuple(jsonObject, likelyData).map(
  // Through JSON text, like every real event.
  ([some, likely]) => completeEvent({ data: JSON.parse(JSON.stringify({ ...some, ...likely })) }),
);

function emissionsOf(actions: readonly Action[]): Emission[] {
  return actions.map(({ emission }) => emission);
}

function checkEmission({ key, aggregateType, id, eventType, data }: Emission): void {
  strictEqual(key, `${aggregateType}:${id}`);
  strictEqual(parseIdentifier(id, TERMS.singletons)?.value, id, "the id is canonical");
  ok(isTypeName(aggregateType) && isTypeName(eventType));
  ok(typeof data === "object" && data !== null && !Array.isArray(data));
  ok(new TextEncoder().encode(JSON.stringify(data)).length <= limits.eventDataBytesMax);
}

Deno.test("implications are total, touch nothing, and set off only what can be stored", () => {
  let actionsSeen = 0;
  let failuresSeen = 0;
  fc.assert(
    fc.property(entries, event, (implications, trigger) => {
      const compiled = compileExample(implications);
      ok(compiled.ok, JSON.stringify(compiled));
      const before = JSON.stringify(trigger);
      const { actions, failures } = compiled.reactions(trigger);
      strictEqual(JSON.stringify(trigger), before);
      emissionsOf(actions).forEach(checkEmission);
      for (const action of actions) {
        if (action.kind === "emit") continue;
        ok(action.delayMs >= limits.scheduleDelayMsMin);
        ok(action.delayMs <= limits.scheduleDelayMsMax);
        for (const { key, eventType } of action.cancelOn) {
          ok(compiled.watched.has(`${key.split(":")[0]}.${eventType}`));
        }
      }
      ok(failures.length <= implications.length);
      actionsSeen += actions.length;
      failuresSeen += failures.length;
    }),
    { numRuns: 2_000 },
  );
  ok(actionsSeen > 500 && failuresSeen > 500, `${actionsSeen} actions, ${failuresSeen} failures`);
});

Deno.test("implications give the same again, compiled again or not", () => {
  fc.assert(
    fc.property(entries, event, (implications, trigger) => {
      const compiled = compileExample(implications);
      const again = compileExample(JSON.parse(JSON.stringify(implications)));
      ok(compiled.ok && again.ok);
      const first = compiled.reactions(trigger);
      deepStrictEqual(compiled.reactions(trigger), first);
      deepStrictEqual(again.reactions(trigger), first);
    }),
    { numRuns: 500 },
  );
});

Deno.test("each entry sets off what it does alone, in the order of the entries", () => {
  fc.assert(
    fc.property(entries, event, (implications, trigger) => {
      const together = compileExample(implications);
      ok(together.ok);
      const alone = implications.map((each) => {
        const compiled = compileExample([each]);
        ok(compiled.ok);
        return compiled.reactions(trigger);
      });
      const { actions, failures } = together.reactions(trigger);
      deepStrictEqual(actions, alone.flatMap((each) => each.actions));
      deepStrictEqual(
        failures.map(({ message }) => message),
        alone.flatMap(({ failures }) => failures.map(({ message }) => message)),
      );
      for (const each of alone) ok(each.failures.length === 0 || each.actions.length === 0);
    }),
    { numRuns: 500 },
  );
});

Deno.test("compileReactions() never throws, whatever the JSON, and says what is wrong", () => {
  fc.assert(
    fc.property(
      fc.oneof(json, fc.array(json), fc.array(fc.record({ emit: json }))),
      (definition) => {
        const compiled = compileExample(definition);
        for (const { path, message, hint } of compiled.ok ? [] : compiled.violations) {
          ok(path.startsWith("implications") && message !== "" && hint !== "");
        }
      },
    ),
    { numRuns: 1_000 },
  );
});

/** Every place of a definition, as the keys that lead to it. */
function placesOf(value: JsonValue, place: string[] = []): string[][] {
  if (typeof value !== "object" || value === null) return [place];
  const inner = Object.entries(value).flatMap(([key, item]) => placesOf(item, [...place, key]));
  return [place, ...inner];
}

Deno.test("with any one place replaced, implications compile and run or are refused", () => {
  fc.assert(
    fc.property(entries, event, json, fc.nat(), (implications, trigger, value, choice) => {
      const copy = JSON.parse(JSON.stringify({ implications }));
      const places = placesOf(copy).filter((place) => place.length > 0);
      const place = places[choice % places.length]!;
      let holder = copy;
      for (const key of place.slice(0, -1)) holder = holder[key];
      holder[place.at(-1)!] = value;
      const compiled = compileExample(copy.implications);
      if (compiled.ok) emissionsOf(compiled.reactions(trigger).actions).forEach(checkEmission);
    }),
    { numRuns: 1_000 },
  );
});
