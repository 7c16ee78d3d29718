/**
 * Every path of the API, grouped as in the OpenAPI document. Within those with the same first
 * segment, the router tries them in this order.
 *
 * docs/reference/ describes each of them.
 */

import type { PathRoutes, Route } from "./call.ts";
import type { Tag } from "./openapi/tags.ts";
import {
  attest,
  listAnchors,
  makeAnchor,
  readAnchor,
  readPlatformAnchor,
  readPlatformKey,
  readSigningKey,
  rotateSigningKey,
} from "./audit/audit.ts";
import { listAggregates, readAggregate, readLength } from "./data/aggregate.ts";
import { readEvents } from "./data/events.ts";
import { findNearby } from "./data/nearby.ts";
import { listTypes } from "./data/list_types.ts";
import { writeAtomic, writeBatch, writeSingle } from "./data/write.ts";
import {
  cancelErasure,
  listTombstones,
  readTombstone,
  requestErasure,
} from "./erasure/tombstones.ts";
import {
  coldStart,
  importEvents,
  importLines,
  listImports,
  readImport,
} from "./imports/imports.ts";
import { addUser, logIn } from "./operators/accounts.ts";
import {
  issueApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  scheduleRevocation,
} from "./operators/api_keys.ts";
import { readRestored, resumeRestored, takeBackup } from "./operators/backup.ts";
import { listBlobs, uploadBlob } from "./operators/blobs.ts";
import { readDebug, setDebug } from "./operators/debug.ts";
import { changeTier, createInstance, listInstances, readInstance } from "./operators/instances.ts";
import { deploySpec, listSpecs, readSpec } from "./operators/specs.ts";
import { readUsage } from "./operators/usage.ts";
import {
  redirectConsole,
  redirectDocs,
  sendConsole,
  sendConsoleFile,
  sendDocs,
  sendDocsFile,
  sendDocsFolder,
  sendDocsPage,
  sendDocsPart,
} from "./platform/built_sites.ts";
import { answerLive, answerReady } from "./platform/health.ts";
import { answerMetrics } from "./platform/metrics.ts";
import { answerOpenApi } from "./platform/openapi.ts";
import { answerRoot } from "./platform/root.ts";
import { readFeed } from "./feed/feed.ts";
import {
  deleteProjection,
  deployProjection,
  exportCsv,
  listProjections,
  listRows,
  listRowsOfQuery,
  readRow,
} from "./projections/projections.ts";
import { queryProjections } from "./projections/sql.ts";
import { readEffects } from "./reactions/effects.ts";
import { listErrors, readError } from "./reactions/errors.ts";
import { listDeliveries, listListeners, replayDeliveries } from "./reactions/listeners.ts";
import { manageReactions, readReactions } from "./reactions/reactions.ts";
import { listSagas, readSaga } from "./reactions/sagas.ts";
import { cancelScheduled, listScheduled, readScheduled } from "./reactions/scheduled.ts";
import { TextMap } from "../domain/lookup/text_map.ts";

/**
 * The paths of one group of the OpenAPI document. A pattern consists of fixed segments and
 * parameters in braces, e.g. `/{type}/{id}/length`.
 */
export function paths(
  tag: Tag,
  rows: Readonly<Record<string, Readonly<Record<string, Route>>>>,
): PathRoutes[] {
  return Object.entries(rows).map(([pattern, methods]) => ({
    pattern,
    tag,
    methods: new TextMap(Object.entries(methods)),
    allow: Object.keys(methods).join(", "),
  }));
}

export const PATHS: readonly PathRoutes[] = [
  ...paths("platform", {
    "/": { GET: answerRoot },
    "/health/live": { GET: answerLive },
    "/health/ready": { GET: answerReady },
    "/metrics": { GET: answerMetrics },
    "/openapi.json": { GET: answerOpenApi },
    "/_console": { GET: redirectConsole },
    "/_console/": { GET: sendConsole },
    "/_console/{file}": { GET: sendConsoleFile },
    "/_docs": { GET: redirectDocs },
    "/_docs/": { GET: sendDocs },
    "/_docs/{file}": { GET: sendDocsFile },
    "/_docs/{part}/": { GET: sendDocsFolder },
    "/_docs/{part}/{file}": { GET: sendDocsPage },
    "/_docs/{part}/{folder}/{file}": { GET: sendDocsPart },
  }),
  ...paths("data", {
    "/_atomic-write": { POST: writeAtomic },
    "/_types": { GET: listTypes },
    "/{type}": { GET: listAggregates },
    "/{type}/nearby": { GET: findNearby },
    "/{type}/{id}": { GET: readAggregate, POST: writeBatch },
    "/{type}/{id}/length": { GET: readLength },
    "/{type}/{id}/events": { GET: readEvents },
    "/{type}/{id}/{event}": { POST: writeSingle },
  }),
  ...paths("feed", { "/_feed": { GET: readFeed } }),
  ...paths("projections", {
    "/api/instances/{id}/projections": {
      GET: listProjections,
      POST: deployProjection,
    },
    "/api/instances/{id}/projections/{name}": { DELETE: deleteProjection },
    "/_projections/query": { GET: listRowsOfQuery, POST: queryProjections },
    "/_projections/{name}": { GET: listRows },
    "/_projections/{name}/export.csv": { GET: exportCsv },
    "/_projections/{name}/{key}": { GET: readRow },
  }),
  ...paths("reactions", {
    "/_admin/reactions": { GET: readReactions, POST: manageReactions },
    "/{type}/{id}/events/{index}/effects": { GET: readEffects },
    "/_errors": { GET: listErrors },
    "/_errors/{id}": { GET: readError },
    "/_listeners": { GET: listListeners },
    "/_listeners/{name}/deliveries": { GET: listDeliveries },
    "/_listeners/{name}/replay": { POST: replayDeliveries },
    "/_sagas": { GET: listSagas },
    "/_sagas/{id}": { GET: readSaga },
    "/_scheduled": { GET: listScheduled },
    "/_scheduled/{id}": { GET: readScheduled, DELETE: cancelScheduled },
  }),
  ...paths("audit", {
    "/_admin/anchors": { POST: makeAnchor },
    "/_admin/signing-keys": { POST: rotateSigningKey },
    "/_audit/anchors": { GET: listAnchors },
    "/_audit/anchors/{id}": { GET: readAnchor },
    "/_audit/platform-anchors/latest": { GET: readPlatformAnchor },
    "/_audit/platform-key": { GET: readPlatformKey },
    "/_audit/signing-key": { GET: readSigningKey },
    "/{type}/{id}/audit/attestation/{index}": { GET: attest },
  }),
  ...paths("erasure", {
    "/_admin/tombstones": {
      GET: listTombstones,
      POST: requestErasure,
    },
    "/_admin/tombstones/{id}": {
      GET: readTombstone,
      DELETE: cancelErasure,
    },
  }),
  ...paths("operators", {
    "/api/login": { POST: logIn },
    "/api/users": { POST: addUser },
    "/api/instances": { GET: listInstances, POST: createInstance },
    "/api/instances/{id}": { GET: readInstance, PATCH: changeTier },
    "/api/instances/{id}/spec": { GET: readSpec, POST: deploySpec },
    "/api/instances/{id}/specs": { GET: listSpecs },
    "/api/instances/{id}/keys": { GET: listApiKeys, POST: issueApiKey },
    "/api/instances/{id}/usage": { GET: readUsage },
    "/api/keys/{id}": { DELETE: revokeApiKey },
    "/api/keys/{id}/rotate": { POST: rotateApiKey },
    "/api/keys/{id}/schedule_revocation": { POST: scheduleRevocation },
    "/_admin/blobs": { GET: listBlobs, POST: uploadBlob },
    "/_admin/backup": { GET: takeBackup },
    "/_admin/restored": { GET: readRestored, POST: resumeRestored },
    "/_admin/debug": { GET: readDebug, POST: setDebug },
  }),
  ...paths("imports", {
    "/_admin/import": { POST: importEvents },
    "/_admin/import_jsonl": { POST: importLines },
    "/_admin/cold_start": { POST: coldStart },
    "/_admin/imports": { GET: listImports },
    "/_admin/imports/{id}": { GET: readImport },
  }),
];
