/**
 * Compiles `emit`: one event for one stream, with its templates resolved.
 *
 * The type and data of the event are checked against the spec when it is written. Here the only
 * check is whether it could be stored at all.
 */

import { spend } from "../budget.ts";
import { CONTAINER_UNITS } from "../handler/budget.ts";
import { measureState } from "../handler/measure.ts";
import { templateAt } from "../handler/template.ts";
import {
  addFault,
  childSite,
  type Evaluation,
  type Site,
  type Template,
} from "../handler/evaluation.ts";
import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { limits } from "../limits.ts";
import type { Emission } from "./action.ts";
import { fieldsAt, textAt, type TextField } from "./form.ts";
import { failed, type Resolved, resolvedTo, SKIPPED } from "./resolved.ts";
import { withinShare } from "./share.ts";
import { type NamedStream, resolveTypeName, streamAt, type StreamField } from "./stream.ts";
import { checkEventType, type Terms } from "./terms.ts";

export interface SizedEmission {
  readonly emission: Emission;
  /** Bytes of its key, its type and its data as JSON: the least that is stored for it. */
  readonly bytes: number;
}

export type CompiledEmit = (evaluation: Evaluation) => Resolved<SizedEmission>;

interface EmitParts {
  readonly stream: StreamField;
  readonly eventType: TextField;
  readonly data: Template | undefined;
}

/** Compiles one `emit`; it records faults, and a faulty one compiles to nothing. */
export function emitAt(
  definition: JsonValue,
  site: Site,
  terms: Terms,
  entry: { readonly path: string; readonly scheduled: boolean },
): CompiledEmit {
  const fields = fieldsAt(definition, ["aggregate_type", "id", "event_type"], ["data"], site);
  if (fields === undefined) return () => SKIPPED;
  const stream = streamAt(fields, site, terms);
  const eventType = textAt(fields, "event_type", site);
  const data = Object.hasOwn(fields, "data") ? dataAt(fields, site) : undefined;
  if (eventType?.constant !== undefined) {
    const typeSite = childSite(site, "event_type");
    checkEventType(eventType.constant, stream?.aggregateType, typeSite, terms);
  }
  if (stream === undefined || eventType === undefined) return () => SKIPPED;
  if (stream.aggregateType !== undefined && eventType.constant !== undefined) {
    const { aggregateType } = stream;
    terms.named.push({ ...entry, aggregateType, eventType: eventType.constant });
  } else if (!entry.scheduled) terms.isOpen = true;
  return withinShare(emitter({ stream, eventType, data }));
}

function dataAt(fields: JsonObject, site: Site): Template | undefined {
  const definition = fields["data"] as JsonValue;
  const place = childSite(site, "data");
  const faultsBefore = place.faults.length;
  const template = templateAt(definition, place);
  if (place.faults.length > faultsBefore) return undefined;
  const { constant } = template;
  if (isJsonObject(constant)) return template;
  if (constant === undefined && !Array.isArray(definition)) return template;
  const message = `data must be an object or a path, not ${describeKind(constant ?? definition)}`;
  addFault(place, "wrong_type", message, 'Write {"field": "$.data.field"}, or "$.data"');
  return undefined;
}

function emitter({ stream, eventType, data }: EmitParts): CompiledEmit {
  return (evaluation) => {
    spend(evaluation.budget, CONTAINER_UNITS);
    const place = stream.resolve(evaluation);
    if (place.kind !== "value") return place;
    const type = resolveTypeName(eventType, "event_type", evaluation);
    if (type.kind !== "value") return type;
    const built = data === undefined ? {} : data.build(evaluation, 1);
    if (built === undefined) return SKIPPED;
    if (!isJsonObject(built)) return failed(`data is ${describeKind(built)}, not an object`);
    return sizeEmission(place.value, type.value, built);
  };
}

/** The event with its size, or why it could not be stored. */
export function sizeEmission(
  stream: NamedStream,
  eventType: string,
  data: JsonObject,
): Resolved<SizedEmission> {
  const size = measureState(data);
  if (size.bytes > limits.eventDataBytesMax) {
    return failed(`data exceeds ${limits.eventDataBytesMax} bytes of JSON`);
  }
  if (size.depth > limits.jsonDepthMax) {
    return failed(`data nests deeper than ${limits.jsonDepthMax} levels`);
  }
  const emission = { ...stream, eventType, data };
  const bytes = emission.key.length + emission.eventType.length + size.bytes;
  return resolvedTo({ emission, bytes });
}
