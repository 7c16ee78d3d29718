/**
 * Writes an event of the service itself, implied or scheduled, prepared like a client's write.
 * If a module handles its type, the module judges it first. See docs/reference/reactions.md.
 */

import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { createRecentMap } from "../../domain/recent_map.ts";
import type { Written } from "../../domain/write/write.ts";
import type { Host } from "../../host.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import { explainRefusal, mayPass } from "./ask_outside.ts";
import type { Combiner } from "./combine.ts";
import { openEmissionRoom } from "./emission_room.ts";
import {
  type EmissionRequest,
  type PreparedEmission,
  prepareEmission,
  type WriteMoment,
} from "./prepare_write.ts";

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
  const spentRoots = createRecentMap<string, true>(SPENT_ROOTS_MAX);

  function prepare(
    ...[tenant, spec, request, moment]: Parameters<Emitter["write"]>
  ): PreparedEmission | Promise<PreparedEmission> {
    const isRootSpent = spentRoots.get(spentName(tenant, request)) === true;
    const whole = { ...request, isRootSpent };
    if (spec.moduleCalls.length === 0) return prepareEmission(host, spec, whole, moment);
    return asker.prepare(
      tenant,
      spec,
      (answers) => prepareEmission(host, spec, whole, moment, answers),
    ).then((asked) => {
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
