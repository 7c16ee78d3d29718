/** Specs and projections: what is deployed. */

import type { Admin } from "./calls.ts";
import type { Operator } from "./operator.ts";

export function specCalls(
  { askInstance, lists }: Operator,
): Pick<Admin, "deploy" | "specs" | "projections"> {
  return {
    deploy(spec, { dry_run, check_data, force, ...options } = {}) {
      const document = "spec" in spec ? spec.spec : spec;
      const body = { spec: document, dry_run, check_data, force };
      return askInstance("path", { method: "POST", path: "/spec", body, options });
    },
    specs: {
      ...lists("path", "/specs"),
      current: (options) => askInstance("path", { path: "/spec", options }),
    },
    projections: {
      ...lists("path", "/projections"),
      deploy: (projection, options) =>
        askInstance("path", {
          method: "POST",
          path: "/projections",
          body: { projection },
          options,
        }),
      remove(name, options) {
        const path = `/projections/${encodeURIComponent(name)}`;
        return askInstance("path", { method: "DELETE", path, options });
      },
    },
  };
}
