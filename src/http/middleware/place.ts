/**
 * Finds the environment, and perhaps the instance, that a request addresses: by port or by
 * host.
 */

import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { explainSlug } from "../../domain/access/slug.ts";
import type { Environment } from "../../domain/tenant.ts";
import type { EnvironmentSource, Place } from "../call.ts";

const ENDINGS: readonly (readonly [ending: string, environment: Environment])[] = [
  ["-staging", "staging"],
  ["-test", "test"],
];
const OPERATOR_LABEL = "api";
/** The longest DNS host name; more of a longer one is not echoed. */
const HOST_CHARACTERS_SHOWN = 253;

/** Returns the place that a host name stands for; 404 if it is unknown. */
export function createPlaces(source: EnvironmentSource): (host: string) => Outcome<Place> {
  if (source.kind === "listener") {
    const place = accept({ environment: source.environment, servesData: true });
    return () => place;
  }
  const base = source.baseDomain.toLowerCase();
  return (host) => {
    const label = host.endsWith(`.${base}`) ? host.slice(0, -base.length - 1) : "";
    // Operator calls name their environment; if one does not, no real data is touched.
    if (label === OPERATOR_LABEL) return accept({ environment: "test", servesData: false });
    const ending = ENDINGS.find(([text]) => label.endsWith(text));
    const slug = ending === undefined ? label : label.slice(0, -ending[0].length);
    if (explainSlug(slug) !== undefined) return unknownHost(host, base);
    return accept({ environment: ending?.[1] ?? "production", slug, servesData: true });
  };
}

function unknownHost(host: string, base: string) {
  const message = `Unknown host '${host.slice(0, HOST_CHARACTERS_SHOWN)}'. Use <slug>.${base}, ` +
    `<slug>-staging.${base} or <slug>-test.${base} for data, ${OPERATOR_LABEL}.${base} for ` +
    "operator calls";
  return refuse({ kind: "not_found", message });
}
