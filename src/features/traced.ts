/**
 * The service's parts with a tracing span for each command, query and commit. Without a tracer,
 * the parts are returned unchanged, so tracing costs nothing when it is off.
 */

import type { Combiner } from "./writes/combine.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { SpanAttributes, Tracer } from "../domain/measures/tracer.ts";

type Call = (...given: readonly unknown[]) => Promise<unknown>;

/** Calls that return no promise. */
const IMMEDIATE: ReadonlySet<string> = new Set(["recordError"]);

interface TracedParts {
  readonly data: object;
  readonly specs: object;
  readonly audit: object;
}

/** The same parts, with the calls to `data`, `specs` and `audit` traced. */
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

/** Wraps each method in a span of its name, except those that return at once. */
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

/** Names the kind of a refusal. A refusal is not an error of ours, so the span does not fail. */
function describeOutcome(result: unknown): SpanAttributes {
  if (typeof result !== "object" || result === null || !("refusal" in result)) return {};
  return { "daybook.refusal": (result as { readonly refusal: Refusal }).refusal.kind };
}

/**
 * Gives each write its own span, from ready until its commit ends, even if writes share a
 * transaction.
 */
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
