/**
 * Lists the ids of one aggregate type, or its aggregates with their states.
 *
 * See docs/reference/reading.md.
 */

import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";
import type {
  AggregatePage,
  ListAggregatesRequest,
  ListedAggregate,
} from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type CompiledAggregateType, refuseAggregateType } from "../../domain/spec/compiled.ts";
import { streamKey } from "../../domain/stream_key.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { listAggregateIds } from "../../store/streams/aggregates.ts";
import type { SpecCache } from "../base/current_spec.ts";
import type { AggregateReader } from "./read_aggregate.ts";

/** Longer than any identifier, so a longer cursor names nothing. */
const CURSOR_CHARACTERS_MAX = 256;

export interface ListParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly reader: AggregateReader;
}

export async function listAggregates(
  { engine, host, specs, reader }: ListParts,
  tenant: Tenant,
  request: ListAggregatesRequest,
): Promise<Outcome<AggregatePage>> {
  const { aggregateType, start } = request;
  const spec = await specs.current(tenant.number);
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) return refuseAggregateType(spec, aggregateType);
  if (start !== undefined && start.length > CURSOR_CHARACTERS_MAX) {
    const message = `start must be at most ${CURSOR_CHARACTERS_MAX} characters`;
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const asked = request.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  // One more than the page holds shows whether anything follows.
  const found = await engine.snapshot((tx) =>
    listAggregateIds(tx, tenant.number, aggregateType, { start, limit: limit + 1 })
  );
  const ids = found.slice(0, limit);
  const entries = request.resolve
    ? await resolveEach(host, reader, tenant, { type, ids, synchronous: request.synchronous })
    : accept(ids.map((id): ListedAggregate => ({ id })));
  if (!entries.ok) return entries;
  const truncated = entries.value.length < found.length;
  const nextStart = truncated ? entries.value.at(-1)!.id : undefined;
  const limitClamped = limit < asked;
  return accept({ entries: entries.value, limit, limitClamped, truncated, nextStart });
}

interface NamedAggregates {
  readonly type: CompiledAggregateType;
  readonly ids: readonly string[];
  readonly synchronous: boolean;
}

/**
 * Reads each aggregate within the rest of the request's budget. An aggregate that no request
 * could read gets an error entry, and the others continue. The page ends early in three cases:
 * the next aggregate needs the full budget of another page; its state would make the page
 * longer than a page of events may be; or folding has used up the time of a request.
 */
async function resolveEach(
  host: Host,
  reader: AggregateReader,
  tenant: Tenant,
  { type, ids, synchronous }: NamedAggregates,
): Promise<Outcome<ListedAggregate[]>> {
  const entries: ListedAggregate[] = [];
  let bytesLeft = limits.foldBytesMax;
  let characters = 0;
  const endMs = host.monotonicMs() + limits.wasmRequestMsMax;
  for (const id of ids) {
    if (entries.length > 0 && host.monotonicMs() > endMs) break;
    const stream = streamKey(type.name, id);
    const options = { synchronous, bytesMax: bytesLeft };
    const read = await reader.readState(tenant.number, stream, type, options);
    if (read.ok) {
      assert(read.value !== undefined, "an id is listed from its first event on");
      characters += read.value.view.dataJson.length;
      if (characters > limits.pageBytesMax && entries.length > 0) break;
      entries.push({ id, view: read.value.view });
      bytesLeft -= read.value.bytesRead;
      continue;
    }
    const { refusal } = read;
    if (refusal.kind === "handler_error") entries.push({ id, error: refusal.kind });
    if (refusal.kind === "module_failed") entries.push({ id, error: refusal.failure });
    if (refusal.kind === "handler_error" || refusal.kind === "module_failed") continue;
    if (refusal.kind !== "fold_budget_exceeded") return read;
    const { limit, bytes } = refusal;
    if (limit < limits.foldBytesMax && bytes <= limits.foldBytesMax) break;
    entries.push({ id, error: "fold_budget_exceeded" });
  }
  return accept(entries);
}
