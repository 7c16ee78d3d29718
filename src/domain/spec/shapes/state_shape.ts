/**
 * The shape of the states of an aggregate type, derived from its handlers.
 *
 * It is the least shape that has the empty state and that no operation leaves: each operation is
 * applied to the shape, again and again, until nothing new comes out. Events may come in any
 * order, and any operation may do nothing, so each field of a state is optional. The data of
 * events is taken to fit the schemas of the spec.
 */

import { BudgetSpent, newBudget } from "../../budget.ts";
import type { Steps } from "../../fairness/pieces.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { joinObject, type ShapeWork } from "./combine_shapes.ts";
import { applyOperation } from "./operation_shape.ts";
import { shapeOfDataSteps } from "./schema_shape.ts";
import {
  ANY,
  ANY_OBJECT,
  EMPTY_OBJECT,
  isAnyShape,
  isNamed,
  kindsOf,
  type ObjectShape,
  type Shape,
} from "./shape.ts";
import { TextMap } from "../../lookup/text_map.ts";

/** Steps that deriving one state may take, and one operation of it. Beyond, it is any object. */
const WORK_MAX = 2_000_000;
const OPERATION_WORK_MAX = 50_000;
/** Rounds after which a state that still grows has nested too deep, and levels that are kept. */
const DEEP_ROUNDS = 4;
const LEVELS_MAX = 12;
const LEVELS_OF_GROWING_MAX = 6;

/** An event type of the aggregate: its handler, and the shape of its data. */
export interface HandledEvent {
  readonly type: string;
  readonly handler: JsonValue;
  readonly data: Shape;
}

export interface AggregateShapes {
  readonly state: ObjectShape;
  readonly data: ReadonlyMap<string, Shape>;
}

/** Yields between operations, also those within others. */
export function* stateShapeSteps(events: readonly HandledEvent[]): Steps<ObjectShape> {
  // A module may make any state of any other.
  if (events.some(({ handler }) => isJsonObject(handler) && handler.wasm !== undefined)) {
    return ANY_OBJECT;
  }
  try {
    return yield* growState(events);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    return ANY_OBJECT;
  }
}

/** The shape of an aggregate type's state, and of the data of each of its events by name. */
export function* aggregateShapesSteps(definition: JsonValue): Steps<AggregateShapes> {
  const handled: HandledEvent[] = [];
  for (const [type, each] of Object.entries((definition as JsonObject).events as JsonObject)) {
    const { schema = true, handler = [] } = each as JsonObject;
    handled.push({ type, handler, data: yield* shapeOfDataSteps(schema) });
  }
  const state = yield* stateShapeSteps(handled);
  return { state, data: new Map(handled.map(({ type, data }) => [type, data])) };
}

function* growState(events: readonly HandledEvent[]): Steps<ObjectShape> {
  let state = EMPTY_OBJECT;
  let left = WORK_MAX;
  for (let round = 1;; round++) {
    const before = state;
    for (const { type, handler, data } of events) {
      for (const operation of operationsOf(handler)) {
        const allowed = Math.min(left, OPERATION_WORK_MAX);
        const work: ShapeWork = { ...newBudget(allowed), names: 0 };
        const around = { data, type, names: new Map<string, Shape>(), work };
        const after = yield* applyOperation(operation as JsonObject, state, around);
        const levels = round > DEEP_ROUNDS ? LEVELS_OF_GROWING_MAX : LEVELS_MAX;
        state = joinObject(state, cutObject(after, levels), work);
        left -= allowed - work.left;
        yield;
      }
    }
    if (state === before) return state;
  }
}

function operationsOf(handler: JsonValue): readonly JsonValue[] {
  return Array.isArray(handler) ? handler : [handler];
}

function cutObject(object: ObjectShape, levels: number): ObjectShape {
  const rest = cutShape(object.rest, levels - 1);
  const fields = [...object.fields].map(([name, field]) => {
    const shape = cutShape(field.shape, levels - 1);
    return [name, shape === field.shape ? field : { ...field, shape }] as const;
  });
  const isSame = rest === object.rest &&
    fields.every(([name, field]) => field === object.fields.get(name));
  return isSame ? object : { fields: new TextMap(fields), rest };
}

/** Says nothing about what is nested deeper. A named shape ends by itself. */
function cutShape(shape: Shape, levels: number): Shape {
  if (isNamed(shape) || isAnyShape(shape)) return shape;
  const kinds = kindsOf(shape);
  const { array, objects } = kinds;
  if (array === undefined && objects.length === 0) return shape;
  if (levels === 0) return ANY;
  const cut = objects.map((object) =>
    object.definition === undefined ? cutObject(object, levels) : object
  );
  const isSame = cut.every((object, index) => object === objects[index]);
  if (array === undefined) return isSame ? shape : { ...kinds, objects: cut };
  const prefix = array.prefix.map((each) => cutShape(each, levels - 1));
  const rest = cutShape(array.rest, levels - 1);
  const isSameArray = rest === array.rest &&
    prefix.every((each, index) => each === array.prefix[index]);
  if (isSame && isSameArray) return shape;
  return { ...kinds, objects: cut, array: isSameArray ? array : { ...array, prefix, rest } };
}
