/**
 * Reads the actions that an implication module returns.
 *
 * Each action emits an event, whose stream is named by `key`, or by `aggregate_type` and `id`.
 * See docs/reference/modules.md.
 */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";

/** One event to emit, with its stream always in two parts. Not yet checked against any spec. */
export interface ModuleAction {
  readonly aggregate_type: string;
  readonly id: string;
  readonly event_type: string;
  readonly data: JsonObject;
}

export type ActionsReading =
  | { readonly ok: true; readonly actions: readonly ModuleAction[] }
  | { readonly ok: false; readonly message: string };

export function readActions(value: JsonValue): ActionsReading {
  if (!Array.isArray(value)) return fault("`actions` must be an array");
  const limit = limits.implicationActionsMax;
  if (value.length > limit) {
    return fault(`there are ${value.length} actions, at most ${limit} are allowed`);
  }
  const actions: ModuleAction[] = [];
  for (const [index, element] of value.entries()) {
    const action = readAction(element);
    if (typeof action === "string") return fault(`\`actions[${index}]${action}`);
    actions.push(action);
  }
  return { ok: true, actions };
}

/** The action, or what is wrong with it as a text that continues the path: `.emit` and so on. */
function readAction(element: JsonValue): ModuleAction | string {
  if (!isJsonObject(element)) return "` must be an object";
  const emit = element.emit;
  if (!isJsonObject(emit)) return ".emit` must be an object";
  const stream = readStream(emit);
  if (typeof stream === "string") return stream;
  const { event_type, data } = emit;
  if (typeof event_type !== "string") return ".emit.event_type` must be a string";
  if (data !== undefined && data !== null && !isJsonObject(data)) {
    return ".emit.data` must be an object";
  }
  return { ...stream, event_type, data: isJsonObject(data) ? data : {} };
}

function readStream(
  { key, aggregate_type, id }: JsonObject,
): Pick<ModuleAction, "aggregate_type" | "id"> | string {
  if (key === undefined || key === null) {
    if (typeof aggregate_type !== "string") {
      return ".emit` needs `key`, or `aggregate_type` and `id`";
    }
    if (typeof id !== "string") return ".emit.id` must be a string";
    return { aggregate_type, id };
  }
  const colon = typeof key === "string" ? key.indexOf(":") : -1;
  if (typeof key !== "string" || colon < 1) return '.emit.key` must be "<type>:<id>"';
  if (!isAbsent(aggregate_type) || !isAbsent(id)) {
    return ".emit` has both `key` and `aggregate_type` or `id`";
  }
  return { aggregate_type: key.slice(0, colon), id: key.slice(colon + 1) };
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null;
}

function fault(message: string): ActionsReading {
  return { ok: false, message };
}
