/**
 * The main program of the process that writes copies.
 *
 * It may read and write the folder of the copies and nothing else, and runs no statement from
 * users.
 */

import { serveRequests } from "../runners/serve_requests.ts";
import type { CopyAnswer, CopyRequest } from "./copy_messages.ts";
import { newCopyKeeper } from "./write_copies.ts";

const NOTHING = new Uint8Array(0);
const keeper = newCopyKeeper();

serveRequests<CopyRequest, CopyAnswer>({
  answer(request) {
    const startedMs = performance.now();
    const result = keeper.answer(request);
    const tookMs = performance.now() - startedMs;
    return { message: { ...result, tookMs, pauses: false }, body: NOTHING };
  },
  cleanUp() {},
});
