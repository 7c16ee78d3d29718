/**
 * For each route: a request for what belongs to the instance `shop`, and a rival's answer. The
 * rival has a key of another instance, or a token for another one. A route without a row here
 * fails the test that walks `PATHS`.
 */

import { METADATA } from "./world_spec.ts";

/** What `shop` has and the other instance must not reach. */
export interface Belongings {
  readonly instance: string;
  readonly order: string;
  readonly errorId: string;
  readonly sagaId: string;
  readonly scheduledId: string;
  readonly anchorId: string;
  readonly keyId: string;
}

export interface RouteRow {
  /** As in `PATHS`. */
  readonly route: string;
  readonly path: (shop: Belongings) => string;
  readonly body?: (shop: Belongings) => unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Status of the answer to the other instance. */
  readonly rival: number;
  /** True if a token that is limited to `shop` must not change even `shop`. */
  readonly isForUnrestricted?: boolean;
  /** What that answer contains, if it is not a refusal. */
  readonly rivalBody?: Readonly<Record<string, unknown>>;
}

const WRITE = { data: { text: "the rival's" }, metadata: METADATA };
const NONE = { data: [] };

/** Requested with an API key: the other instance sees its own, empty environment. */
export const DATA_ROWS: readonly RouteRow[] = [
  {
    route: "POST /_atomic-write",
    path: () => "/_atomic-write",
    body: ({ order }) => ({
      targets: [{
        aggregate_type: "order",
        id: order,
        events: [{ type: "was_paid", data: WRITE.data }],
      }],
      metadata: METADATA,
    }),
    rival: 201,
  },
  {
    route: "GET /_audit/anchors",
    path: () => "/_audit/anchors",
    rival: 200,
    rivalBody: NONE,
  },
  {
    route: "GET /_audit/anchors/{id}",
    path: ({ anchorId }) => `/_audit/anchors/${anchorId}`,
    rival: 404,
  },
  {
    route: "GET /_audit/platform-anchors/latest",
    path: () => "/_audit/platform-anchors/latest",
    rival: 404,
  },
  { route: "GET /_audit/platform-key", path: () => "/_audit/platform-key", rival: 200 },
  { route: "GET /_audit/signing-key", path: () => "/_audit/signing-key", rival: 200 },
  { route: "GET /_errors", path: () => "/_errors", rival: 200, rivalBody: NONE },
  { route: "GET /_errors/{id}", path: ({ errorId }) => `/_errors/${errorId}`, rival: 404 },
  { route: "GET /_feed", path: () => "/_feed", rival: 200, rivalBody: NONE },
  { route: "GET /_listeners", path: () => "/_listeners", rival: 200, rivalBody: NONE },
  {
    route: "GET /_listeners/{name}/deliveries",
    path: () => "/_listeners/hook/deliveries",
    rival: 404,
  },
  {
    route: "POST /_listeners/{name}/replay",
    path: () => "/_listeners/hook/replay",
    body: () => ({ since: "2026-01-01T00:00:00Z" }),
    rival: 404,
  },
  { route: "GET /_projections/query", path: () => "/_projections/query", rival: 404 },
  {
    // A table of another instance does not exist for the rival.
    route: "POST /_projections/query",
    path: () => "/_projections/query",
    body: () => ({ sql: "SELECT * FROM orders_seen" }),
    rival: 422,
  },
  { route: "GET /_projections/{name}", path: () => "/_projections/orders_seen", rival: 404 },
  {
    route: "GET /_projections/{name}/export.csv",
    path: () => "/_projections/orders_seen/export.csv",
    rival: 404,
  },
  {
    route: "GET /_projections/{name}/{key}",
    path: ({ order }) => `/_projections/orders_seen/${order}`,
    rival: 404,
  },
  { route: "GET /_sagas", path: () => "/_sagas", rival: 200, rivalBody: NONE },
  { route: "GET /_sagas/{id}", path: ({ sagaId }) => `/_sagas/${sagaId}`, rival: 404 },
  { route: "GET /_scheduled", path: () => "/_scheduled", rival: 200, rivalBody: NONE },
  {
    route: "GET /_scheduled/{id}",
    path: ({ scheduledId }) => `/_scheduled/${scheduledId}`,
    rival: 404,
  },
  {
    route: "DELETE /_scheduled/{id}",
    path: ({ scheduledId }) => `/_scheduled/${scheduledId}`,
    rival: 404,
  },
  {
    route: "GET /_types",
    path: () => "/_types?start=note&limit=1",
    rival: 200,
    rivalBody: { data: [{ type: "order", aggregates: 0, events: 0 }] },
  },
  { route: "GET /{type}", path: () => "/order", rival: 200, rivalBody: NONE },
  {
    route: "GET /{type}/nearby",
    path: () => "/order/nearby?lat=52.52&lng=13.405",
    rival: 200,
    rivalBody: NONE,
  },
  { route: "GET /{type}/{id}", path: ({ order }) => `/order/${order}`, rival: 404 },
  {
    route: "POST /{type}/{id}",
    path: ({ order }) => `/order/${order}`,
    body: () => ({ events: [{ type: "was_paid", data: WRITE.data }], metadata: METADATA }),
    rival: 201,
  },
  {
    route: "GET /{type}/{id}/length",
    path: ({ order }) => `/order/${order}/length`,
    rival: 200,
    rivalBody: { length: 0 },
  },
  {
    route: "GET /{type}/{id}/events",
    path: ({ order }) => `/order/${order}/events`,
    rival: 200,
    rivalBody: NONE,
  },
  {
    route: "GET /{type}/{id}/events/{index}/effects",
    path: ({ order }) => `/order/${order}/events/0/effects?depth=8`,
    rival: 404,
  },
  {
    route: "GET /{type}/{id}/audit/attestation/{index}",
    path: ({ order }) => `/order/${order}/audit/attestation/0`,
    rival: 404,
  },
  {
    route: "POST /{type}/{id}/{event}",
    path: ({ order }) => `/order/${order}/was_paid`,
    body: () => WRITE,
    rival: 201,
  },
];

function inTest({ instance }: Belongings) {
  return { instance_id: instance, environment: "test" };
}

/** An event in the past, for an import. */
function backdated({ order }: Belongings) {
  const metadata = { ...METADATA, timestamp: 1 };
  return { key: `order:${order}`, type: "was_paid", data: WRITE.data, metadata };
}

function inQuery(path: string): RouteRow["path"] {
  return ({ instance }) => `${path}?instance_id=${instance}&environment=test`;
}

function multipart(fields: Readonly<Record<string, string>>): string {
  const parts = Object.entries(fields).map(([name, value]) => {
    const file = name === "file" ? '; filename="module.wasm"' : "";
    const head = `Content-Disposition: form-data; name="${name}"${file}`;
    return `--part\r\n${head}\r\n\r\n${value}\r\n`;
  });
  return `${parts.join("")}--part--\r\n`;
}

/** Requested with a token that names another instance. */
export const OPERATOR_ROWS: readonly RouteRow[] = [
  {
    route: "GET /api/instances",
    path: () => "/api/instances",
    rival: 200,
  },
  {
    route: "GET /api/instances/{id}",
    path: ({ instance }) => `/api/instances/${instance}`,
    rival: 403,
  },
  {
    route: "PATCH /api/instances/{id}",
    path: ({ instance }) => `/api/instances/${instance}`,
    body: () => ({ tier: "unlimited" }),
    rival: 403,
    isForUnrestricted: true,
  },
  {
    route: "GET /api/instances/{id}/spec",
    path: ({ instance }) => `/api/instances/${instance}/spec?environment=test`,
    rival: 403,
  },
  {
    route: "POST /api/instances/{id}/spec",
    path: ({ instance }) => `/api/instances/${instance}/spec`,
    body: () => ({ environment: "test", force: true, spec: {} }),
    rival: 403,
  },
  {
    route: "GET /api/instances/{id}/specs",
    path: ({ instance }) => `/api/instances/${instance}/specs?environment=test`,
    rival: 403,
  },
  {
    route: "GET /api/instances/{id}/usage",
    path: ({ instance }) => `/api/instances/${instance}/usage?environment=test`,
    rival: 403,
  },
  {
    route: "GET /api/instances/{id}/projections",
    path: ({ instance }) => `/api/instances/${instance}/projections?environment=test`,
    rival: 403,
  },
  {
    route: "POST /api/instances/{id}/projections",
    path: ({ instance }) => `/api/instances/${instance}/projections`,
    body: () => ({ environment: "test", projection: {} }),
    rival: 403,
  },
  {
    route: "DELETE /api/instances/{id}/projections/{name}",
    path: ({ instance }) => `/api/instances/${instance}/projections/orders_seen?environment=test`,
    rival: 403,
  },
  {
    route: "GET /api/instances/{id}/keys",
    path: ({ instance }) => `/api/instances/${instance}/keys?environment=test`,
    rival: 403,
  },
  {
    route: "POST /api/instances/{id}/keys",
    path: ({ instance }) => `/api/instances/${instance}/keys`,
    body: () => ({ name: "mine", scope: "write", environment: "test" }),
    rival: 403,
  },
  {
    route: "DELETE /api/keys/{id}",
    path: ({ keyId }) => `/api/keys/${keyId}`,
    rival: 403,
  },
  {
    route: "POST /api/keys/{id}/rotate",
    path: ({ keyId }) => `/api/keys/${keyId}/rotate`,
    rival: 403,
  },
  {
    route: "POST /api/keys/{id}/schedule_revocation",
    path: ({ keyId }) => `/api/keys/${keyId}/schedule_revocation`,
    body: () => ({ revoke_at: "2030-01-01T00:00:00Z" }),
    rival: 403,
  },
  {
    route: "POST /_admin/anchors",
    path: () => "/_admin/anchors",
    body: inTest,
    rival: 403,
  },
  {
    route: "POST /_admin/signing-keys",
    path: () => "/_admin/signing-keys",
    body: inTest,
    rival: 403,
  },
  { route: "GET /_admin/blobs", path: inQuery("/_admin/blobs"), rival: 403 },
  {
    route: "POST /_admin/blobs",
    path: () => "/_admin/blobs",
    headers: { "content-type": "multipart/form-data; boundary=part" },
    body: (shop) => multipart({ ...inTest(shop), name: "judge", file: "\0asm\x01\0\0\0" }),
    rival: 403,
  },
  { route: "GET /_admin/reactions", path: inQuery("/_admin/reactions"), rival: 403 },
  {
    route: "POST /_admin/reactions",
    path: () => "/_admin/reactions",
    body: (shop) => ({ ...inTest(shop), action: "pause" }),
    rival: 403,
  },
  { route: "GET /_admin/tombstones", path: inQuery("/_admin/tombstones"), rival: 403 },
  {
    route: "POST /_admin/tombstones",
    path: () => "/_admin/tombstones",
    body: (shop) => ({ ...inTest(shop), key: `order:${shop.order}`, reason: "not mine" }),
    rival: 403,
  },
  {
    route: "GET /_admin/tombstones/{id}",
    path: inQuery("/_admin/tombstones/tmb_1"),
    rival: 403,
  },
  {
    route: "DELETE /_admin/tombstones/{id}",
    path: inQuery("/_admin/tombstones/tmb_1"),
    rival: 403,
  },
  {
    route: "POST /_admin/import",
    path: () => "/_admin/import",
    body: (shop) => ({ ...inTest(shop), import_id: "load", events: [backdated(shop)] }),
    rival: 403,
  },
  ...["import_jsonl", "cold_start"].map((call): RouteRow => ({
    route: `POST /_admin/${call}`,
    path: inQuery(`/_admin/${call}`),
    headers: { "content-type": "application/x-ndjson" },
    body: (shop) => JSON.stringify(backdated(shop)),
    rival: 403,
  })),
  { route: "GET /_admin/imports", path: inQuery("/_admin/imports"), rival: 403 },
  { route: "GET /_admin/imports/{id}", path: inQuery("/_admin/imports/load"), rival: 403 },
  { route: "GET /_admin/debug", path: inQuery("/_admin/debug"), rival: 403 },
  {
    route: "POST /_admin/debug",
    path: () => "/_admin/debug",
    body: (shop) => ({ ...inTest(shop), wasm_trace: true }),
    rival: 403,
  },
];

/** Routes without an instance: their answers belong to nobody, or to operators of everything. */
export const SHARED_ROUTES: Readonly<Record<string, string>> = {
  "GET /": "tells what is here, and nothing of whose",
  "GET /_console": "leads to the console",
  "GET /_console/": "the console before anybody has signed in: the same for all",
  "GET /_console/{file}": "code and styles of the console: the same for all",
  "GET /_docs": "leads to the documentation",
  "GET /_docs/": "the documentation of the version: the same for all",
  "GET /_docs/{file}": "as above",
  "GET /_docs/{part}/": "as above",
  "GET /_docs/{part}/{file}": "as above",
  "GET /_docs/{part}/{folder}/{file}": "as above",
  "GET /health/live": "tells that the process runs, and nothing else",
  "GET /health/ready": "tells whether the store answers, and nothing else",
  "GET /metrics": "counts; for operators, or on loopback",
  "GET /openapi.json": "describes the calls; with a key, the types of its own environment",
  "POST /api/login": "gives a token to who knows an account's password",
  "POST /api/users": "accounts are of the deployment: a token for single instances is refused",
  "POST /api/instances": "makes a new one: a token for single instances is refused",
  "GET /_admin/backup": "the whole deployment: a token for single instances is refused",
  "GET /_admin/restored": "the whole deployment: a token for single instances is refused",
  "POST /_admin/restored": "the whole deployment: a token for single instances is refused",
};
