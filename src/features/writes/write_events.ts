/**
 * Writes events: single, batch and atomic writes on one path. Checks that need only the spec
 * come first. Then the ledger, the expected length and the append share ONE transaction.
 * Concurrent writes share transactions (`combine.ts`). See docs/reference/writing.md.
 */

import type { Host } from "../../host.ts";
import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { runInPieces, waitForTurn } from "../../domain/fairness/pieces.ts";
import { openShares } from "../../domain/fairness/shares.ts";
import { limits } from "../../domain/limits.ts";
import { waitingHeavy } from "../../domain/limits/load.ts";
import type { OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import type { ModuleAnswers } from "../../domain/reaction/module_question.ts";
import { type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { validateWriteSteps, type ValidWrite } from "../../domain/write/validate_write.ts";
import type { IdempotencyClaim, WriteRequest, Written } from "../../domain/write/write.ts";
import type { Engine } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { answerFromLedger } from "../../store/streams/idempotency.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import type { Combiner } from "./combine.ts";
import { prepareWriteSteps } from "./prepare_write.ts";
import type { PreparedWrite } from "./prepared_write.ts";
import { TextSet } from "../../domain/lookup/text_map.ts";

const MS_PER_SECOND = 1000;
/** How many heavy writes of one instance may wait for a place. */
const WAITING_HEAVY_MAX = 64;
/** A write that takes longer than this in one piece is slow. */
const SLOW_MS = 1;
/** How long a refusal is held back, and how many may be at a time. */
const HELD_MS = 1_000;
const HELD_MAX = 1_000;
/** So many slow writes in a row are no accident. */
const SLOW_IN_A_ROW = 3;
/** How many writes of an environment may wait for their turns while it may be an accident. */
const WAITING_UNSURE_MAX = 256;
/** Thrown where one more would wait, and caught where the write began. */
const NO_PLACE_TO_WAIT = new Error("Too many heavy writes of the instance wait");
const TOO_MANY_HEAVY: Refusal = {
  kind: "no_room",
  message: `${WAITING_HEAVY_MAX} writes of this instance that take long to check are waiting; ` +
    "send this one again",
};

/** The outbox as a writer sees it. */
export interface OwnOutbox {
  /** How long other processes leave the entries of a write alone; 0 leaves them to the workers. */
  ownWaitMs(tenant: number): number;
  /** Does the entries of a write, for 250 ms at most before its reply. Never rejects. */
  drainBeforeReply(works: readonly OutboxWork[]): Promise<void>;
}

export interface Writer {
  writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>>;
  /**
   * The ledger's answer for a keyed request whose body is no valid write; undefined if it has
   * none.
   */
  answerRecorded(
    tenant: Tenant,
    claim: IdempotencyClaim,
  ): Promise<Outcome<Written> | undefined>;
}

/** A write before it is prepared. */
interface Arrival {
  readonly tenant: Tenant;
  readonly spec: CompiledSpec;
  readonly request: WriteRequest;
  readonly nowMs: number;
  /** Waits for a place if the write turns out to be heavy; throws {@link NO_PLACE_TO_WAIT}. */
  readonly enter: () => Promise<void>;
}

export function createWriter(
  engine: Engine,
  host: Host,
  specs: SpecCache,
  combiner: Combiner,
  outbox: OwnOutbox,
  asker: ModuleAsker,
  isDirect = true,
): Writer {
  /** Keys whose first request is still running here, as `<tenant>/<key>`. */
  const inFlight = new TextSet();

  const heavy = openHeavyWrites();
  const slow = openSlowWrites(host);
  let held = 0;

  function writeEvents(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>> {
    const { idempotency } = request;
    return idempotency === undefined
      ? execute(tenant, request)
      : executeOnce(tenant, request, inFlightName(tenant, idempotency));
  }

  async function executeOnce(
    tenant: Tenant,
    request: WriteRequest,
    claim: string,
  ): Promise<Outcome<Written>> {
    if (inFlight.has(claim)) return refuse({ kind: "idempotency_in_progress" });
    inFlight.add(claim);
    try {
      return await execute(tenant, request);
    } finally {
      inFlight.delete(claim);
    }
  }

  async function execute(tenant: Tenant, request: WriteRequest): Promise<Outcome<Written>> {
    const nowMs = host.nowMs();
    const current = specs.current(tenant.number);
    const spec = current instanceof Promise ? await current : current;
    const { instanceId } = tenant;
    if (slow.has(tenant.number)) {
      const isIn = !heavy.isFull(instanceId) && await slow.enter(tenant);
      if (!isIn || heavy.isFull(instanceId)) return await refuseLater();
    }
    let leave: (() => void) | undefined;
    const enter = async () => {
      slow.add(tenant.number);
      leave ??= await heavy.enter(instanceId);
      if (leave === undefined) throw NO_PLACE_TO_WAIT;
    };
    let prepared: Outcome<PreparedWrite>;
    let outcome: Outcome<Written>;
    try {
      // Most writes are prepared at once, and an await would only cost them a turn.
      const beganMs = host.monotonicMs();
      const preparing = prepare({ tenant, spec, request, nowMs, enter });
      const tookMs = host.monotonicMs() - beganMs;
      prepared = preparing instanceof Promise ? await preparing : preparing;
      if (leave !== undefined || tookMs > SLOW_MS) slow.add(tenant.number);
      else slow.delete(tenant.number);
      if (!prepared.ok) return await answerRefused(tenant, request, nowMs) ?? prepared;
      // A heavy write is placed without a pause: no two of them in one turn of the event loop.
      if (leave !== undefined) await waitForTurn(host, false, instanceId);
      outcome = await combiner.submit(tenant.number, prepared.value);
    } catch (error) {
      if (error === NO_PLACE_TO_WAIT) return await refuseLater();
      throw error;
    } finally {
      leave?.();
    }
    if (outcome.ok && outcome.value.outbox !== undefined && prepared.value.ownWaitMs > 0) {
      await outbox.drainBeforeReply(outcome.value.outbox);
    }
    return outcome;
  }

  /** Who is refused asks again at once, so the refusal comes late, and waits as the others do. */
  async function refuseLater(): Promise<Outcome<never>> {
    if (held < HELD_MAX) {
      held++;
      waitingHeavy.count++;
      await new Promise<void>((resolve) => void host.startTimer(HELD_MS, resolve));
      waitingHeavy.count--;
      held--;
    }
    return refuse(TOO_MANY_HEAVY);
  }

  /** Checks a write and makes its bytes. */
  function prepare(arrival: Arrival): Outcome<PreparedWrite> | Promise<Outcome<PreparedWrite>> {
    const { tenant, spec, request, enter } = arrival;
    const valid = runInPieces(validateWriteSteps(request, spec, tenant.environment), host, enter);
    return valid instanceof Promise
      ? valid.then((valid) => prepareValid(arrival, valid))
      : prepareValid(arrival, valid);
  }

  function prepareValid(
    { tenant, spec, request, nowMs, enter }: Arrival,
    valid: Outcome<ValidWrite>,
  ): Outcome<PreparedWrite> | Promise<Outcome<PreparedWrite>> {
    if (!valid.ok) return valid;
    const ownWaitMs = spec.setsOff ? outbox.ownWaitMs(tenant.number) : 0;
    const moment = { nowMs, ownWaitMs, isDirect: isDirect && ownWaitMs > 0 };
    const prepareWrite = (answers?: ModuleAnswers) =>
      runInPieces(
        prepareWriteSteps(host, spec, request, valid.value, moment, answers),
        host,
        enter,
      );
    if (spec.moduleCalls.length === 0) return prepareWrite();
    return asker.prepare(tenant.number, spec, prepareWrite)
      .then((asked) => asked.ok ? asked.value : asked);
  }

  /** A recorded key is answered even if a later spec would refuse the body. */
  async function answerRefused(tenant: Tenant, { idempotency }: WriteRequest, nowMs: number) {
    const now = Math.floor(nowMs / MS_PER_SECOND);
    return idempotency && await answerAgain(tenant, idempotency, now);
  }

  async function answerAgain(tenant: Tenant, claim: IdempotencyClaim, now: number) {
    const answer = await engine.transact((tx) => answerFromLedger(tx, tenant.number, claim, now));
    if (answer?.ok) combiner.counters.writesReplayed++;
    return answer;
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

/**
 * Environments whose last write was slow: their next ones wait, and begin one in each turn. The
 * check of one event cannot be paused, so a thousand of them would hold the thread together.
 */
function openSlowWrites(host: Host) {
  /** How many were slow in a row. */
  const inARow = new Map<number, number>();
  const waiting = new Map<number, number>();

  return {
    has: (tenant: number) => inARow.has(tenant),
    add: (tenant: number) => void inARow.set(tenant, (inARow.get(tenant) ?? 0) + 1),
    delete: (tenant: number) => void inARow.delete(tenant),
    /** False at once if too many wait. A single slow write may be a pause of the machine. */
    async enter({ number, instanceId }: Tenant): Promise<boolean> {
      const before = waiting.get(number) ?? 0;
      const isSlow = (inARow.get(number) ?? 0) >= SLOW_IN_A_ROW;
      if (before >= (isSlow ? WAITING_HEAVY_MAX : WAITING_UNSURE_MAX)) return false;
      waiting.set(number, before + 1);
      waitingHeavy.count++;
      await waitForTurn(host, false, instanceId);
      waitingHeavy.count--;
      const left = waiting.get(number)! - 1;
      if (left > 0) waiting.set(number, left);
      else waiting.delete(number);
      return true;
    },
  };
}

/**
 * Limits heavy writes: those that take more than a few milliseconds to check or to prepare.
 * Such a write sets off much or has many events, and keeps megabytes in memory until it has
 * committed. So only a few run at a time, and instances share the places. All other writes pass
 * without waiting. Of each instance only some may wait, because each of them is a request that is
 * held open.
 */
export interface HeavyWrites {
  /** Whether as many writes of the instance wait as may. */
  isFull(instanceId: string): boolean;
  /**
   * Waits for a place. The returned function frees it and must be called exactly once. Undefined
   * at once if too many wait.
   */
  enter(instanceId: string): Promise<(() => void) | undefined>;
}

export function openHeavyWrites(placesMax: number = limits.heavyWritesMax): HeavyWrites {
  const taken = openShares<string>(placesMax);
  const line = openFairLine<string>();

  function leave(instanceId: string): void {
    taken.add(instanceId, -1);
    for (;;) {
      const start = line.take((owner) => !taken.isFull(owner));
      if (start === undefined) return;
      start();
    }
  }

  const isFull = (instanceId: string) => line.count(instanceId) >= WAITING_HEAVY_MAX;

  async function enter(instanceId: string): Promise<(() => void) | undefined> {
    // A waiting write starts as soon as its instance has a place. So if there is a place now,
    // no write of the instance is waiting, and none is overtaken.
    if (!taken.isFull(instanceId)) taken.add(instanceId, 1);
    else {
      if (isFull(instanceId)) return undefined;
      waitingHeavy.count++;
      await new Promise<void>((resolve) => {
        line.push(instanceId, () => {
          waitingHeavy.count--;
          taken.add(instanceId, 1);
          resolve();
        });
      });
    }
    return () => leave(instanceId);
  }

  return { isFull, enter };
}
