/**
 * The main program of a process that runs queries.
 *
 * It may read the folder of the copies and nothing else.
 */

import { serveRequests } from "../runners/serve_requests.ts";
import type { QueryAnswer, QueryRequest } from "./query_messages.ts";
import { runQuery } from "./run_query.ts";

const encoder = new TextEncoder();

serveRequests<QueryRequest, QueryAnswer>({
  answer({ message }) {
    const startedMs = performance.now();
    const { result, text } = runQuery(message);
    const tookMs = performance.now() - startedMs;
    return { message: { ...result, tookMs, pauses: false }, body: encoder.encode(text) };
  },
  cleanUp() {},
});
