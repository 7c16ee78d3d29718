/** Instances and API keys: who may do what. */

import { itemsOf } from "../core/iterate.ts";
import type { CallOptions, Query } from "../core/transport.ts";
import type { Admin } from "./calls.ts";
import type { Operator } from "./operator.ts";

export function accessCalls(
  { ask, askInstance, lists }: Operator,
): Pick<Admin, "instances" | "keys"> {
  const listPage: Admin["instances"]["listPage"] = (
    { signal, timeoutMs, retries, ...query } = {},
  ) => ask({ path: "/api/instances", query: query as Query, signal, timeoutMs, retries });

  function askKey(id: string, action: string, options?: CallOptions) {
    return { ...options, path: `/api/keys/${encodeURIComponent(id)}${action}` };
  }

  return {
    instances: {
      listPage,
      list: (options = {}) => itemsOf(options, (at) => listPage({ ...options, ...at })),
      get(id, options) {
        if (id === undefined) return askInstance("path", { path: "", options });
        return ask({ ...options, path: `/api/instances/${encodeURIComponent(id)}` });
      },
      create: (instance, options) =>
        ask({ ...options, method: "POST", path: "/api/instances", body: instance, once: true }),
      setTier(id, tier, options) {
        const path = `/api/instances/${encodeURIComponent(id)}`;
        return ask({ ...options, method: "PATCH", path, body: { tier } });
      },
      usage: (options) => askInstance("path", { path: "/usage", options }),
    },
    keys: {
      ...lists("path", "/keys"),
      issue: (key, options) =>
        askInstance("path", { method: "POST", path: "/keys", body: key, once: true, options }),
      rotate: (id, options) =>
        ask({ ...askKey(id, "/rotate", options), method: "POST", body: {}, once: true }),
      revoke: (id, options) => ask({ ...askKey(id, "", options), method: "DELETE" }),
      scheduleRevocation: (id, revoke_at, options) =>
        ask({
          ...askKey(id, "/schedule_revocation", options),
          method: "POST",
          body: { revoke_at },
        }),
    },
  };
}
