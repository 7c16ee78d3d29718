/** Which environment, and perhaps which instance, a request is addressed to: by port or by host. */

import { type Outcome, refuse } from "../../domain/refusal.ts";
import { accept } from "../../domain/refusal.ts";
import { explainSlug } from "../../domain/slug.ts";
import type { Environment } from "../../domain/tenant.ts";
import type { EnvironmentSource, Place } from "../call.ts";

const ENDINGS: readonly (readonly [ending: string, environment: Environment])[] = [
  ["-staging", "staging"],
  ["-test", "test"],
];
const OPERATOR_LABEL = "api";
/** A host name of DNS is at most so long; the rest of a longer one is not sent back. */
const HOST_CHARACTERS_SHOWN = 253;

/** Gives the place a host name stands for, or refuses an unknown one with 404. */
export function createPlaces(source: EnvironmentSource): (host: string) => Outcome<Place> {
  if (source.kind === "listener") {
    const place = accept({ environment: source.environment, servesData: true });
    return () => place;
  }
  const base = source.baseDomain.toLowerCase();
  return (host) => {
    const label = host.endsWith(`.${base}`) ? host.slice(0, -base.length - 1) : "";
    // Operator calls name their environment; where they do not, nothing real is touched.
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
