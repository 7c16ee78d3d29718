/**
 * Targets: dotted paths to the location in the state that an operation writes.
 *
 * If a target has the wrong type, the operation does nothing; operations that write create
 * missing parents. See docs/reference/expressions.md.
 *
 * - Steps are as in value paths (`items.0.name`, `items[0]`, `totals["odd key"]`), but without
 *   a root, `[*]` or `?`. The first key has no leading dot. `""` is the whole state.
 * - A parent that is missing or null is created: as an array if the next step is `[0]`,
 *   otherwise as an object. A parent has the wrong type if it is a scalar, an array where the
 *   step is a key, or an object where the step is an `[index]`.
 * - An index of an array may be one past the end, which appends. Beyond that the target has the
 *   wrong type, because an array has no holes.
 */

import { spend } from "../budget.ts";
import type { JsonValue } from "../json.ts";
import { CONTAINER_UNITS, movedUnits, SLOT_UNITS, STEP_UNITS } from "./budget.ts";
import { addFault, type Evaluation, type Site } from "./evaluation.ts";
import { excerpt, readStep } from "./path.ts";
import { parseSegments, type Segment } from "./segments.ts";
import { ownState, ownStep } from "./own.ts";
import { addField, type Container, isContainer, putField, removeField } from "./value.ts";

export interface Target {
  readonly segments: readonly Segment[];
  /** The level of a container written at the target; the root of the state is level 1. */
  readonly level: number;
}

const ROOT: Target = { segments: [], level: 1 };

/** Compiles a target; it records faults, and a faulty target compiles to the whole state. */
export function targetAt(definition: JsonValue, site: Site): Target {
  if (definition === "") return ROOT;
  const segments = fieldPathAt(definition, site, "target_invalid");
  return segments === undefined ? ROOT : { segments, level: segments.length + 1 };
}

/**
 * Compiles a path without a root, such as a target or the field of an element in `where` and
 * `key`. It has at least one step, no `[*]` and no `?`. If it is invalid, records a fault and
 * returns undefined.
 */
export function fieldPathAt(
  definition: JsonValue,
  site: Site,
  rule: "target_invalid" | "field_invalid",
): readonly Segment[] | undefined {
  const fault = typeof definition === "string"
    ? parseFieldPath(definition)
    : { message: "It is not a string", hint: "" };
  if (Array.isArray(fault)) return fault;
  const { message, hint } = fault as Fault;
  const shown = typeof definition === "string" ? `"${excerpt(definition)}" is invalid: ` : "";
  addFault(
    site,
    rule,
    `${shown}${message}`,
    hint || 'Write it as "lines", "address.city", "lines[0]"',
  );
  return undefined;
}

interface Fault {
  readonly message: string;
  readonly hint: string;
}

function parseFieldPath(text: string): readonly Segment[] | Fault {
  if (text.startsWith("$") || text.startsWith("@")) {
    return {
      message: 'it starts with "$" or "@"',
      hint: 'It is a path inside the state or element: write "status", not "@.status". ' +
        'For a key that starts so, write ["$key"]',
    };
  }
  const parsed = parseSegments(text.startsWith("[") ? text : `.${text}`);
  if (!parsed.ok) return { message: parsed.message, hint: "" };
  if (parsed.optional) {
    return { message: 'a "?" has no meaning here', hint: "Put it behind the path of the value" };
  }
  // Bounded: the segments of one path in a definition.
  if (parsed.segments.some((segment) => segment.every)) {
    return {
      message: '"[*]" has no meaning here',
      hint: 'Change several elements with "map" or "update_where"',
    };
  }
  return parsed.segments;
}

/**
 * Opens the container that `segments` lead to, to change it. If `next`, the step that will be
 * taken in it, is given, missing containers on the way are created; without it, nothing is
 * created. If a value of the wrong type is in the way, returns undefined and changes nothing.
 */
export function openContainer(
  evaluation: Evaluation,
  segments: readonly Segment[],
  next: Segment | undefined,
): Container | undefined {
  spend(evaluation.budget, STEP_UNITS * segments.length);
  let container: Container = ownState(evaluation);
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index] as Segment;
    const child = readStep(container, segment);
    if (isContainer(child)) {
      container = ownStep(evaluation, container, segment, child);
    } else if (next !== undefined && (child === undefined || child === null)) {
      if (!accepts(container, segment)) return undefined;
      const rest = [...segments.slice(index + 1), next];
      const fresh = createPath(evaluation, rest);
      if (fresh === undefined) return undefined;
      writeStep(evaluation, container, segment, fresh.top);
      return fresh.bottom;
    } else {
      return undefined;
    }
  }
  return container;
}

/** Creates nested containers for these steps; undefined if one would be an array with a hole. */
function createPath(
  evaluation: Evaluation,
  steps: readonly Segment[],
): { top: Container; bottom: Container } | undefined {
  // Bounded: the segments of one path in a definition.
  if (steps.some((step) => step.name === undefined && step.index > 0)) return undefined;
  const [first, ...rest] = steps;
  const top = emptyFor(first);
  let bottom = top;
  let step = first as Segment;
  for (const next of rest) {
    const inner = emptyFor(next);
    writeStep(evaluation, bottom, step, inner);
    bottom = inner;
    step = next;
  }
  return { top, bottom };
}

function emptyFor(step: Segment | undefined): Container {
  return step !== undefined && step.name === undefined ? [] : {};
}

/** Whether a step can be written: a key of an object, or an index of an array up to its length. */
export function accepts(container: Container, segment: Segment): boolean {
  return Array.isArray(container)
    ? segment.index !== -1 && segment.index <= container.length
    : segment.name !== undefined;
}

/** Writes where {@link accepts} is true; an existing key keeps its position. Charged. */
export function writeStep(
  evaluation: Evaluation,
  container: Container,
  segment: Segment,
  value: JsonValue,
): void {
  spend(evaluation.budget, STEP_UNITS);
  const isNew = readStep(container, segment) === undefined;
  if (isNew) {
    spend(evaluation.budget, CONTAINER_UNITS + SLOT_UNITS + (segment.name?.length ?? 0));
  }
  if (Array.isArray(container)) container[segment.index] = value;
  else if (isNew) addField(container, segment.name as string, value);
  else putField(container, segment.name as string, value);
}

/** Removes a key of an object or an element of an array, if it exists. Charged. */
export function removeStep(
  { budget }: Evaluation,
  container: Container,
  segment: Segment,
): void {
  spend(budget, SLOT_UNITS);
  if (!Array.isArray(container)) {
    if (segment.name !== undefined) removeField(container, segment.name);
  } else if (segment.index !== -1 && segment.index < container.length) {
    spend(budget, movedUnits(container.length - segment.index));
    container.splice(segment.index, 1);
  }
}
