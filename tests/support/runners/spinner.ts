/** A runner that never answers: its thread is busy for ever, as that of an endless statement is. */

import { serveRequests } from "../../../src/runners/serve_requests.ts";

serveRequests({
  answer() {
    for (;;);
  },
  cleanUp() {},
});
