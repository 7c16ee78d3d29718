/**
 * The parts of the service with a span for each command and query, and one for what a write waits
 * for its commit. Where nobody traces, nothing stands between caller and service.
 */

import type { Combiner } from "../commands/combine.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { SpanAttributes, Tracer } from "../domain/tracer.ts";

type Call = (...given: readonly unknown[]) => Promise<unknown>;

/** Calls that give no promise. */
const IMMEDIATE: ReadonlySet<string> = new Set(["recordError"]);

interface TracedParts {
  readonly data: object;
  readonly specs: object;
  readonly audit: object;
}

/** The same parts; what clients and operators ask of data, specs and evidence is traced. */
export function traceParts<P extends TracedParts>(parts: P, tracer: Tracer | undefined): P {
  if (tracer === undefined) return parts;
  const { data, specs, audit } = parts;
  return {
    ...parts,
    data: traceCalls(data, tracer),
    specs: traceCalls(specs, tracer),
    audit: traceCalls(audit, tracer),
  };
}

/** Each method as a span of its name; those that answer at once are left as they are. */
function traceCalls<T extends object>(calls: T, tracer: Tracer): T {
  const traced = Object.entries(calls).map(([name, call]) => [
    name,
    typeof call === "function" && !IMMEDIATE.has(name)
      ? (...given: readonly unknown[]) =>
        tracer.span(name, tenantOf(given[0]), () => (call as Call)(...given), describeOutcome)
      : call,
  ]);
  return Object.fromEntries(traced) as T;
}

function tenantOf(given: unknown): SpanAttributes {
  if (typeof given !== "object" || given === null) return {};
  const { instanceId, environment } = given as Partial<Tenant>;
  if (instanceId === undefined || environment === undefined) return {};
  return { "daybook.instance_id": instanceId, "daybook.environment": environment };
}

/** The kind of a refusal, which is no failure of ours. */
function describeOutcome(result: unknown): SpanAttributes {
  if (typeof result !== "object" || result === null || !("refusal" in result)) return {};
  return { "daybook.refusal": (result as { readonly refusal: Refusal }).refusal.kind };
}

/** Writes that share a transaction have a span each: from when they are ready until it is over. */
export function traceCommits(combiner: Combiner, tracer: Tracer | undefined): Combiner {
  if (tracer === undefined) return combiner;
  return {
    ...combiner,
    submit: (tenant, write) => {
      const events = write.targets.reduce((sum, target) => sum + target.events.length, 0);
      const attributes = { "daybook.streams": write.targets.length, "daybook.events": events };
      return tracer.span("commit", attributes, () => combiner.submit(tenant, write));
    },
  };
}
