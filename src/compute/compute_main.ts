/** The program of a compute process. It has no permissions: requests bring all that it needs. */

import { serveRequests } from "../runners/serve_requests.ts";
import { openComputeServer } from "./answer_requests.ts";

serveRequests(openComputeServer());
