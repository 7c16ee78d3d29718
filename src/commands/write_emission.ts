/**
 * Writes an event of the service itself, implied or scheduled: prepared like a client's, with what
 * modules say about it. Decisions, section 11.
 */

import type { CompiledSpec } from "../domain/spec/compiled.ts";
import type { Written } from "../domain/write.ts";
import type { Host } from "../host.ts";
import type { ModuleAsker } from "./ask_modules.ts";
import { explainRefusal, mayPass } from "./ask_outside.ts";
import type { Combiner } from "./combine.ts";
import {
  type EmissionRequest,
  type PreparedEmission,
  prepareEmission,
  type WriteMoment,
} from "./prepare_write.ts";

export type Emitted =
  | { readonly ok: true; readonly written: Written }
  /** It does not fit `spec`, or its handler does not take it: it is to be given up. */
  | { readonly ok: false; readonly message: string };

export interface Emitter {
  /** @throws outages, and an error where modules may take it another time. */
  write(
    tenant: number,
    spec: CompiledSpec,
    request: EmissionRequest,
    moment: WriteMoment,
  ): Promise<Emitted>;
}

export function createEmitter(host: Host, combiner: Combiner, asker: ModuleAsker): Emitter {
  async function prepare(
    ...[tenant, spec, request, moment]: Parameters<Emitter["write"]>
  ): Promise<PreparedEmission> {
    if (spec.moduleCalls.length === 0) return prepareEmission(host, spec, request, moment);
    const asked = await asker.prepare(
      tenant,
      spec,
      (answers) => prepareEmission(host, spec, request, moment, answers),
    );
    if (!asked.ok) throw new Error(explainRefusal(asked.refusal));
    return asked.value;
  }

  async function write(...request: Parameters<Emitter["write"]>): Promise<Emitted> {
    const prepared = await prepare(...request);
    if (!prepared.ok) return prepared;
    const [tenant] = request;
    const outcome = await combiner.submit(tenant, prepared.write);
    if (outcome.ok) return { ok: true, written: outcome.value };
    const message = explainRefusal(outcome.refusal);
    if (mayPass(outcome.refusal)) throw new Error(message);
    return { ok: false, message };
  }

  return { write };
}
