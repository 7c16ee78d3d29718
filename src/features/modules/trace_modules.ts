/**
 * Traces of module calls, for environments in which an operator has turned them on.
 *
 * The newest few hundred are kept in this process's memory, for an hour at most. See
 * docs/reference/modules.md.
 */

import { limits } from "../../domain/limits.ts";
import type { ModuleTrace } from "../../domain/wasm/trace.ts";
import type { Host } from "../../host.ts";

export interface ModuleTracer {
  /** Turns tracing on for `limits.wasmTraceMsMax`, or off. Both drop earlier traces. */
  turn(tenant: number, isOn: boolean): void;
  isOn(tenant: number): boolean;
  add(tenant: number, trace: ModuleTrace): void;
  /** Newest first. */
  list(tenant: number): readonly ModuleTrace[];
}

interface Tracing {
  readonly endsMs: number;
  readonly traces: ModuleTrace[];
}

export function openModuleTracer(host: Host): ModuleTracer {
  const tracings = new Map<number, Tracing>();

  function find(tenant: number): Tracing | undefined {
    // The common case: no environment is traced.
    if (tracings.size === 0) return undefined;
    const tracing = tracings.get(tenant);
    if (tracing === undefined || host.nowMs() < tracing.endsMs) return tracing;
    tracings.delete(tenant);
    return undefined;
  }

  return {
    turn(tenant, isOn) {
      const endsMs = host.nowMs() + limits.wasmTraceMsMax;
      if (isOn) tracings.set(tenant, { endsMs, traces: [] });
      else tracings.delete(tenant);
    },
    isOn: (tenant) => find(tenant) !== undefined,
    add(tenant, trace) {
      const traces = find(tenant)?.traces;
      if (traces === undefined) return;
      traces.push(trace);
      if (traces.length > limits.wasmTracesMax) traces.shift();
    },
    list: (tenant) => find(tenant)?.traces.toReversed() ?? [],
  };
}
