/**
 * Checks an event that the service itself emits against the spec current at the time of
 * writing.
 *
 * An implied event that fails this check becomes an error record. See
 * docs/reference/reactions.md.
 */

import { Buffer } from "node:buffer";
import type { Budget } from "../budget.ts";
import { explainIdentifier, parseIdentifier } from "../identifier.ts";
import { limits } from "../limits.ts";
import type { DataFault } from "../refusal.ts";
import type { CompiledSpec } from "../spec/compiled.ts";
import type { Emission } from "../reaction/action.ts";
import type { ValidEvent } from "./validate_write.ts";

export type CheckedEmission =
  | { readonly ok: true; readonly event: ValidEvent }
  | { readonly ok: false; readonly message: string };

/**
 * Runs the checks of a client's write that apply here. The service sets the metadata itself. The
 * schema draws on `work`; without it, on a budget of the event's own.
 */
export function checkEmission(
  emission: Emission,
  spec: CompiledSpec,
  work?: Budget,
): CheckedEmission {
  const { aggregateType, eventType, id, data } = emission;
  const types = spec.aggregateTypes.get(aggregateType);
  if (types === undefined) return fault(`Aggregate type '${aggregateType}' not found in spec`);
  const type = eventType.startsWith("_") ? undefined : types.events.get(eventType);
  if (type === undefined) {
    const text = `Event type '${eventType}' not found in spec for aggregate '${aggregateType}'`;
    return fault(text);
  }
  // A deploy may have removed the singleton since the event was emitted.
  if (parseIdentifier(id, spec.singletons)?.value !== id) return fault(explainIdentifier(id));
  const dataJson = JSON.stringify(data);
  const limit = limits.eventDataBytesMax;
  if (dataJson.length * 3 > limit && Buffer.byteLength(dataJson) > limit) {
    return fault(`Event data exceeds ${limit} bytes of JSON`);
  }
  const [first] = type.validateData(data, work);
  if (first !== undefined) return dataFault(first);
  const located = type.locate?.(data);
  if (located !== undefined && !located.ok) return dataFault(located.fault);
  return { ok: true, event: { type: eventType, dataJson, geo: located?.geo } };
}

function dataFault({ path, message }: DataFault): CheckedEmission {
  return fault(`Event data failed schema validation: ${path}: ${message}`);
}

function fault(message: string): CheckedEmission {
  return { ok: false, message };
}
