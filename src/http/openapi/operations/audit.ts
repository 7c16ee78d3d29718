/** OpenAPI rows of anchors, signing keys and proofs. See docs/reference/audit.md. */

import type { Operations } from "../operation.ts";
import {
  answer,
  array,
  choice,
  COUNT,
  type FieldSchemas,
  HEX_32,
  input,
  object,
  page,
  PAGING,
  ref,
  TENANT,
  TEXT,
  TIME,
} from "../schema.ts";

const ALGORITHM = { const: "ed25519" };
const KEY: FieldSchemas = { public_key: HEX_32, created_at: TIME };
const PROOF: FieldSchemas = {
  siblings: array(HEX_32),
  directions: array(choice(["left", "right"])),
};
const PLATFORM_ANCHOR = object({
  format: { const: 2 },
  id: TEXT,
  merkle_root: HEX_32,
  instance_count: COUNT,
  cutoff_at: TIME,
  created_at: TIME,
  signature: TEXT,
  public_key: HEX_32,
});

export const AUDIT: Operations = {
  "GET /{type}/{id}/audit/attestation/{index}": {
    id: "attestEvent",
    summary: "The proof of one event",
    query: {
      "anchor?": { type: "string", description: "The id of an anchor; default: the newest" },
    },
    answers: {
      200: answer({
        format: { const: 2 },
        event: object({ index: COUNT, id: TEXT, raw: TEXT, hash: HEX_32, prev_hash: TEXT }),
        stream: object({ key: TEXT, merkle_root: HEX_32, event_count: COUNT }),
        stream_proof: object(PROOF),
        instance_proof: object({ index: COUNT, stream_count: COUNT, ...PROOF }),
        anchor: ref("Anchor"),
        anchored_at: TIME,
      }),
    },
    errors: [
      "aggregate_type_unknown",
      "identifier_invalid",
      "invalid_index",
      "anchor_not_found",
      "stream_not_found",
      "beyond_anchor_coverage",
      "anchor_format_unsupported",
      "anchor_stream_mismatch",
    ],
  },
  "GET /_audit/anchors": {
    id: "listAnchors",
    summary: "The anchors of the environment, newest first",
    query: PAGING,
    answers: { 200: page(ref("Anchor")) },
  },
  "GET /_audit/anchors/{id}": {
    id: "readAnchor",
    summary: "One anchor, or `latest`",
    answers: { 200: answer({ anchor: ref("Anchor") }) },
    errors: ["anchor_not_found"],
  },
  "GET /_audit/signing-key": {
    id: "readSigningKey",
    summary: "The key that signs anchors",
    query: { "all?": { type: "boolean", default: false, description: "Also those before it" } },
    answers: {
      200: answer({
        algorithm: ALGORITHM,
        instance_id: TEXT,
        environment: TEXT,
        ...KEY,
        "keys?": array(object(KEY)),
      }),
    },
  },
  "GET /_audit/platform-anchors/latest": {
    id: "readPlatformAnchor",
    summary: "The newest anchor over all instances",
    answers: { 200: answer({ anchor: PLATFORM_ANCHOR }) },
    errors: ["anchor_not_found"],
  },
  "GET /_audit/platform-key": {
    id: "readPlatformKey",
    summary: "The key that signs anchors over all instances",
    answers: { 200: answer({ algorithm: ALGORITHM, ...KEY }) },
  },
  "POST /_admin/anchors": {
    id: "makeAnchor",
    summary: "Makes an anchor now",
    query: { "environment?": TENANT["environment?"]! },
    body: input(TENANT),
    answers: {
      200: answer({ anchor: { anyOf: [ref("Anchor"), { type: "null" }] } }),
      201: answer({ anchor: ref("Anchor") }),
    },
    errors: ["not_found"],
  },
  "POST /_admin/signing-keys": {
    id: "rotateSigningKey",
    summary: "A new key for the anchors of the instance",
    query: { "environment?": TENANT["environment?"]! },
    body: input(TENANT),
    answers: { 201: answer({ algorithm: ALGORITHM, ...KEY }) },
    errors: ["not_found"],
  },
};
