/**
 * Writes an event of the service itself, implied or scheduled, prepared like a client's write. If a
 * module handles its type, the module judges it first. See docs/reference/reactions.md.
 *
 * However large the backlog, only so many bytes are between preparation and commit at a time.
 * Events are prepared for two milliseconds in a row, one that sets off much in time slices, and
 * environments take turns. So a backlog
 * neither fills the memory nor blocks the thread, and one environment's reactions do not hold up
 * those of others.
 */

import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import type { ModuleAnswers } from "../../domain/reaction/module_question.ts";
import type { Written } from "../../domain/write/write.ts";
import type { Host } from "../../host.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import { explainRefusal, mayPass } from "./ask_outside.ts";
import type { Combiner } from "./combine.ts";
import {
  type EmissionRequest,
  type PreparedEmission,
  prepareEmissionSteps,
  type WriteMoment,
} from "./prepare_write.ts";
import { openFairLine } from "../../domain/fairness/fair_line.ts";
import { limits } from "../../domain/limits.ts";
import {
  openTurnPiece,
  PIECE_MS_MAX,
  runInPieces,
  type Turns,
} from "../../domain/fairness/pieces.ts";
import { openShares } from "../../domain/fairness/shares.ts";

export type Emitted =
  | { readonly ok: true; readonly written: Written }
  /** The event does not fit `spec` or its handler refuses it, so it has to be given up. */
  | { readonly ok: false; readonly message: string };

export interface Emitter {
  /** @throws outages, and an error if modules may accept the event another time. */
  write(
    tenant: number,
    spec: CompiledSpec,
    request: EmissionRequest,
    moment: WriteMoment,
  ): Promise<Emitted>;
}

/** Roots whose budget is known to be spent. */
const SPENT_ROOTS_MAX = 1_000;

export function createEmitter(host: Host, combiner: Combiner, asker: ModuleAsker): Emitter {
  const room = openEmissionRoom(host);
  const spentRoots = createRecentTexts<true>(SPENT_ROOTS_MAX);

  function prepare(
    ...[tenant, spec, request, moment]: Parameters<Emitter["write"]>
  ): PreparedEmission | Promise<PreparedEmission> {
    const isRootSpent = spentRoots.get(spentName(tenant, request)) === true;
    const whole = { ...request, isRootSpent };
    const prepareWith = (answers?: ModuleAnswers) =>
      runInPieces(prepareEmissionSteps(host, spec, whole, moment, answers), host);
    if (spec.moduleCalls.length === 0) return prepareWith();
    return asker.prepare(tenant, spec, prepareWith).then((asked) => {
      if (!asked.ok) throw new Error(explainRefusal(asked.refusal));
      return asked.value;
    });
  }

  function write(...args: Parameters<Emitter["write"]>): Promise<Emitted> {
    const [tenant, , request] = args;
    return room.enter(tenant, {
      prepare: () => prepare(...args),
      sizeOf: (prepared) => prepared.ok ? prepared.write.bytes : 0,
      use: (prepared) => commit(tenant, request, prepared),
    });
  }

  async function commit(
    tenant: number,
    request: EmissionRequest,
    prepared: PreparedEmission,
  ): Promise<Emitted> {
    if (!prepared.ok) return prepared;
    const outcome = await combiner.submit(tenant, prepared.write);
    if (outcome.ok) {
      if (outcome.value.isRootSpent) spentRoots.set(spentName(tenant, request), true);
      return { ok: true, written: outcome.value };
    }
    const message = explainRefusal(outcome.refusal);
    if (mayPass(outcome.refusal)) throw new Error(message);
    return { ok: false, message };
  }

  return { write };
}

function spentName(tenant: number, { root }: EmissionRequest): string {
  return `${tenant}/${root.of}`;
}

/** Limits the events that are between preparation and commit. */
export interface EmissionRoom {
  /**
   * Calls `prepare` as soon as there is room, then `use` with its result. Until `use` has
   * ended, the visit occupies as many bytes as `sizeOf` returns.
   */
  enter<Prepared, Result>(tenant: number, visit: Visit<Prepared, Result>): Promise<Result>;
}

interface Visit<Prepared, Result> {
  prepare(): Prepared | Promise<Prepared>;
  sizeOf(prepared: Prepared): number;
  use(prepared: Prepared): Promise<Result>;
}

/**
 * Preparation time in one turn. Committing the result takes three times as long, in the same
 * turn.
 */
const PREPARING_MS_MAX = PIECE_MS_MAX / 2;
/** What a preparation counts while it runs: one that asks modules takes its time. */
const PREPARING_BYTES = 64 * 1024;

export function openEmissionRoom(
  turns: Turns,
  bytesMax: number = limits.preparedEmissionBytesMax,
): EmissionRoom {
  const taken = openShares(bytesMax);
  const line = openFairLine<number>();
  const piece = openTurnPiece(turns, PREPARING_MS_MAX, startWaiting);

  function startWaiting(): void {
    while (!piece.isOver()) {
      const start = line.take((tenant) => !taken.isFull(tenant));
      if (start === undefined) return;
      piece.begin();
      start();
    }
  }

  function enter<Prepared, Result>(
    tenant: number,
    visit: Visit<Prepared, Result>,
  ): Promise<Result> {
    if (line.isEmpty(tenant) && !piece.isOver() && !taken.isFull(tenant)) {
      piece.begin();
      return stay(tenant, visit);
    }
    return new Promise((resolve, reject) => {
      line.push(tenant, () => void stay(tenant, visit).then(resolve, reject));
    });
  }

  async function stay<Prepared, Result>(
    tenant: number,
    { prepare, sizeOf, use }: Visit<Prepared, Result>,
  ): Promise<Result> {
    let bytes = PREPARING_BYTES;
    taken.add(tenant, bytes);
    try {
      const made = prepare();
      const prepared = made instanceof Promise ? await made : made;
      taken.add(tenant, sizeOf(prepared) - bytes);
      bytes = sizeOf(prepared);
      return await use(prepared);
    } finally {
      taken.add(tenant, -bytes);
      startWaiting();
    }
  }

  return { enter };
}
