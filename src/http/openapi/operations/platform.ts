/** OpenAPI rows of the paths about the process itself. See docs/reference/monitoring.md. */

import type { Operations } from "../operation.ts";
import { ENVIRONMENTS } from "../../../domain/tenant.ts";
import { answer, choice, FREE_OBJECT, TEXT } from "../schema.ts";

export const PLATFORM: Operations = {
  "GET /": {
    id: "readRoot",
    summary: "What this address is, and where it is described",
    answers: {
      200: answer({
        name: TEXT,
        version: TEXT,
        environment: choice(ENVIRONMENTS),
        openapi: TEXT,
        health: TEXT,
      }),
    },
  },
  "GET /health/live": {
    id: "answerLive",
    summary: "The process answers",
    answers: { 200: answer({}) },
  },
  "GET /health/ready": {
    id: "answerReady",
    summary: "The store answers too",
    answers: { 200: answer({}) },
    errors: ["internal", "store_away", "server_stopping"],
  },
  "GET /metrics": {
    id: "readMetrics",
    summary: "What Prometheus reads",
    answers: { 200: "text/plain" },
    errors: ["unauthorized", "forbidden"],
  },
  "GET /openapi.json": {
    id: "readOpenApi",
    isTagged: true,
    summary: "This document; with an API key for the spec that is deployed to its environment",
    answers: { 200: FREE_OBJECT },
    errors: ["unauthorized", "forbidden", "internal", "store_away"],
  },
};
