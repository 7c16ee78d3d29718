/** Resolves a request's type and id to a stream, or to a refusal; shared by all reads. */

import { explainIdentifier, parseIdentifier } from "../../domain/identifier.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import {
  type CompiledAggregateType,
  type CompiledSpec,
  refuseAggregateType,
} from "../../domain/spec/compiled.ts";
import { type StreamKey, streamKey } from "../../domain/stream_key.ts";

export interface LocatedStream {
  readonly type: CompiledAggregateType;
  readonly id: string;
  readonly key: StreamKey;
  /** Singletons exist even without events. */
  readonly singleton: boolean;
}

/** 404 for an unknown type, 422 for a malformed id. */
export function locateStream(
  spec: CompiledSpec,
  aggregateType: string,
  id: string,
): Outcome<LocatedStream> {
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) return refuseAggregateType(spec, aggregateType);
  const identifier = parseIdentifier(id, spec.singletons);
  if (identifier === undefined) {
    const message = explainIdentifier(id);
    return refuse({ kind: "identifier_invalid", path: "key", message });
  }
  const key = streamKey(aggregateType, identifier.value);
  const singleton = identifier.kind === "singleton";
  return accept({ type, id: identifier.value, key, singleton });
}
