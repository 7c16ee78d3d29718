/**
 * Every path of the API, in the order in which the router tries them.
 *
 * docs/reference/ describes each of them.
 */

import { operator, path, read, write } from "./route.ts";
import type { PathRoutes, Route } from "./call.ts";
import { listAggregates, readAggregate, readLength } from "./routes/aggregate.ts";
import { addUser, logIn } from "./routes/accounts.ts";
import {
  attest,
  listAnchors,
  makeAnchor,
  readAnchor,
  readPlatformAnchor,
  readPlatformKey,
  readSigningKey,
  rotateSigningKey,
} from "./routes/audit.ts";
import {
  issueApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  scheduleRevocation,
} from "./routes/api_keys.ts";
import { listBlobs, uploadBlob } from "./routes/blobs.ts";
import { readDebug, setDebug } from "./routes/debug.ts";
import { listErrors, readError } from "./routes/errors.ts";
import { readEvents } from "./routes/events.ts";
import { answerLive, answerReady } from "./routes/health.ts";
import { answerMetrics } from "./routes/metrics.ts";
import { coldStart, importEvents, importLines, listImports, readImport } from "./routes/imports.ts";
import { changeTier, createInstance, listInstances, readInstance } from "./routes/instances.ts";
import { listDeliveries, listListeners, replayDeliveries } from "./routes/listeners.ts";
import { answerOpenApi } from "./routes/openapi.ts";
import {
  deleteProjection,
  deployProjection,
  exportCsv,
  listProjections,
  listRows,
  readRow,
} from "./routes/projections.ts";
import { queryViews } from "./routes/query.ts";
import { manageReactions, readReactions } from "./routes/reactions.ts";
import { answerRoot } from "./routes/root.ts";
import { listSagas, readSaga } from "./routes/sagas.ts";
import { findNearby } from "./routes/nearby.ts";
import { cancelScheduled, listScheduled, readScheduled } from "./routes/scheduled.ts";
import { deploySpec, listSpecs, readSpec } from "./routes/specs.ts";
import {
  cancelErasure,
  listTombstones,
  readTombstone,
  requestErasure,
} from "./routes/tombstones.ts";
import { readUsage } from "./routes/usage.ts";
import { writeAtomic, writeBatch, writeSingle } from "./routes/write.ts";

const live: Route = { access: "health", run: answerLive };
const ready: Route = { access: "health", run: answerReady };
const metrics: Route = { access: "metrics", run: answerMetrics };
const openApi: Route = { access: "open", run: answerOpenApi };
const login: Route = { access: "open", run: logIn };
const root: Route = { access: "health", run: answerRoot };

export const PATHS: readonly PathRoutes[] = [
  path("/", { GET: root }),
  path("/health/live", { GET: live }),
  path("/health/ready", { GET: ready }),
  path("/metrics", { GET: metrics }),
  path("/openapi.json", { GET: openApi }),
  path("/api/login", { POST: login }),
  path("/api/users", { POST: operator(addUser) }),
  path("/api/instances", { GET: operator(listInstances), POST: operator(createInstance) }),
  path("/api/instances/{id}", { GET: operator(readInstance), PATCH: operator(changeTier) }),
  path("/api/instances/{id}/spec", { GET: operator(readSpec), POST: operator(deploySpec) }),
  path("/api/instances/{id}/specs", { GET: operator(listSpecs) }),
  path("/api/instances/{id}/keys", { GET: operator(listApiKeys), POST: operator(issueApiKey) }),
  path("/api/instances/{id}/usage", { GET: operator(readUsage) }),
  path("/api/instances/{id}/projections", {
    GET: operator(listProjections),
    POST: operator(deployProjection),
  }),
  path("/api/instances/{id}/projections/{name}", { DELETE: operator(deleteProjection) }),
  path("/api/keys/{id}", { DELETE: operator(revokeApiKey) }),
  path("/api/keys/{id}/rotate", { POST: operator(rotateApiKey) }),
  path("/api/keys/{id}/schedule_revocation", { POST: operator(scheduleRevocation) }),
  path("/_admin/anchors", { POST: operator(makeAnchor) }),
  path("/_admin/signing-keys", { POST: operator(rotateSigningKey) }),
  path("/_admin/blobs", { GET: operator(listBlobs), POST: operator(uploadBlob) }),
  path("/_admin/import", { POST: operator(importEvents) }),
  path("/_admin/import_jsonl", { POST: operator(importLines) }),
  path("/_admin/cold_start", { POST: operator(coldStart) }),
  path("/_admin/imports", { GET: operator(listImports) }),
  path("/_admin/imports/{id}", { GET: operator(readImport) }),
  path("/_admin/debug", { GET: operator(readDebug), POST: operator(setDebug) }),
  path("/_admin/reactions", { GET: operator(readReactions), POST: operator(manageReactions) }),
  path("/_admin/tombstones", {
    GET: operator(listTombstones),
    POST: operator(requestErasure),
  }),
  path("/_admin/tombstones/{id}", {
    GET: operator(readTombstone),
    DELETE: operator(cancelErasure),
  }),
  path("/_atomic-write", { POST: write(writeAtomic) }),
  path("/_audit/anchors", { GET: read(listAnchors) }),
  path("/_audit/anchors/{id}", { GET: read(readAnchor) }),
  path("/_audit/platform-anchors/latest", { GET: read(readPlatformAnchor) }),
  path("/_audit/platform-key", { GET: read(readPlatformKey) }),
  path("/_audit/signing-key", { GET: read(readSigningKey) }),
  path("/_errors", { GET: read(listErrors) }),
  path("/_errors/{id}", { GET: read(readError) }),
  path("/_listeners", { GET: read(listListeners) }),
  path("/_listeners/{name}/deliveries", { GET: read(listDeliveries) }),
  path("/_listeners/{name}/replay", { POST: write(replayDeliveries) }),
  path("/_projections/query", { GET: read(listRows), POST: read(queryViews) }),
  path("/_projections/{name}", { GET: read(listRows) }),
  path("/_projections/{name}/export.csv", { GET: read(exportCsv) }),
  path("/_projections/{name}/{key}", { GET: read(readRow) }),
  path("/_sagas", { GET: read(listSagas) }),
  path("/_sagas/{id}", { GET: read(readSaga) }),
  path("/_scheduled", { GET: read(listScheduled) }),
  path("/_scheduled/{id}", { GET: read(readScheduled), DELETE: write(cancelScheduled) }),
  path("/{type}", { GET: read(listAggregates) }),
  path("/{type}/nearby", { GET: read(findNearby) }),
  path("/{type}/{id}", { GET: read(readAggregate), POST: write(writeBatch) }),
  path("/{type}/{id}/length", { GET: read(readLength) }),
  path("/{type}/{id}/events", { GET: read(readEvents) }),
  path("/{type}/{id}/audit/attestation/{index}", { GET: read(attest) }),
  path("/{type}/{id}/{event}", { POST: write(writeSingle) }),
];
