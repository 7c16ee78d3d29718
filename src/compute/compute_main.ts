/** The program of a process that computes. It has no permissions: all it needs is in requests. */

import { serveRequests } from "../runners/serve_requests.ts";
import { openComputeServer } from "./answer_requests.ts";

serveRequests(openComputeServer());
