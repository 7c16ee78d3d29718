/**
 * Writes events: single, batch and atomic on one path. Spec: "POST /{type}/{id}/{event}" and its
 * siblings. Checks that need only the spec come first, then ledger, OCC and append in ONE
 * transaction. Concurrent writes share transactions (`combine.ts`).
 */

import type { Host } from "../host.ts";
import { encodeEvent, encodeMetadata, type StoredMetadata } from "../domain/event.ts";
import { limits } from "../domain/limits.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import { validateWrite, type ValidTarget, type ValidWrite } from "../domain/validate_write.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../domain/write.ts";
import type { Engine } from "../kv/engine.ts";
import { EVENT_OVERHEAD_BYTES } from "../store/segment.ts";
import type { SpecCache } from "../queries/current_spec.ts";
import { answerFromLedger, type PreparedTarget, type PreparedWrite } from "./append_writes.ts";
import { createCombiner } from "./combine.ts";

const MS_PER_SECOND = 1000;

export interface Writer {
  writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>>;
  /** What the ledger answers to a keyed body that is no write; undefined when it knows nothing. */
  answerRecorded(
    tenant: Tenant,
    claim: IdempotencyClaim,
  ): Promise<Outcome<Written> | undefined>;
}

export function createWriter(engine: Engine, host: Host, specs: SpecCache): Writer {
  const combiner = createCombiner(engine, host);
  /** Keys whose first request is still running here, as `<tenant>/<key>`. */
  const inFlight = new Set<string>();

  async function writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>> {
    if (request.idempotency === undefined) return await execute(tenant, request);
    const claim = inFlightName(tenant, request.idempotency);
    if (inFlight.has(claim)) return refuse({ kind: "idempotency_in_progress" });
    inFlight.add(claim);
    try {
      return await execute(tenant, request);
    } finally {
      inFlight.delete(claim);
    }
  }

  async function execute(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>> {
    const now = Math.floor(host.nowMs() / MS_PER_SECOND);
    const spec = await specs.current(tenant.number);
    const valid = validateWrite(request, spec, tenant.environment);
    const prepared = valid.ok ? prepareWrite(request, valid.value, now) : valid;
    if (!prepared.ok) {
      const { idempotency } = request;
      const recorded = idempotency && await answerAgain(tenant, idempotency, now);
      return recorded ?? prepared;
    }
    return await combiner.submit(tenant.number, prepared.value);
  }

  /** A recorded key answers even where a later spec would refuse its body. */
  function answerAgain(tenant: Tenant, claim: IdempotencyClaim, now: number) {
    return engine.transact((tx) => answerFromLedger(tx, tenant.number, claim, now));
  }

  async function answerRecorded(
    tenant: Tenant,
    claim: IdempotencyClaim,
  ): Promise<Outcome<Written> | undefined> {
    if (inFlight.has(inFlightName(tenant, claim))) {
      return refuse({ kind: "idempotency_in_progress" });
    }
    return await answerAgain(tenant, claim, Math.floor(host.nowMs() / MS_PER_SECOND));
  }

  return { writeEvents, answerRecorded };
}

function inFlightName(tenant: Tenant, { key }: IdempotencyClaim): string {
  return `${tenant.number}/${key}`;
}

/** Makes the bytes of every event, once: reruns of the transaction only place them. */
function prepareWrite(
  request: WriteRequest,
  write: ValidWrite,
  now: number,
): Outcome<PreparedWrite> {
  const { actor, target, timestamp = now } = write.metadata;
  const idempotencyKey = request.idempotency?.key;
  const metadata = { actor, target, timestamp, idempotency_key: idempotencyKey };
  const targets = write.targets.map((valid) => prepareTarget(valid, metadata));
  const bytes = targets.reduce((sum, prepared) => sum + prepared.bytes, 0);
  const limit = limits.writeStoredBytesMax;
  if (bytes > limit) {
    const message = `The events of one write may store at most ${limit} bytes; these need ${bytes}`;
    return refuse({ kind: "payload_too_large", message, limit });
  }
  const { form, requestId, idempotency } = request;
  return accept({ form, targets, bytes, timestamp, now, requestId, idempotency });
}

/** Only the first event of a guarded write has `previous_length`. Spec: "Stored-only metadata". */
function prepareTarget(target: ValidTarget, metadata: StoredMetadata): PreparedTarget {
  const { key, aggregateType, id, expected } = target;
  const plain = encodeMetadata(metadata);
  const first = expected === "any"
    ? plain
    : encodeMetadata({ ...metadata, previous_length: expected });
  let bytes = 0;
  const events = target.events.map(({ type, dataJson }, index) => {
    const event = encodeEvent(key, type, dataJson, index === 0 ? first : plain);
    bytes += event.bytes + EVENT_OVERHEAD_BYTES;
    return event;
  });
  return { key, aggregateType, id, expected, events, bytes };
}
