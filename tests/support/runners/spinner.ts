/** A runner that never answers: its thread spins forever, as in an endless SQL statement. */

import { serveRequests } from "../../../src/runners/serve_requests.ts";

serveRequests({
  answer() {
    for (;;);
  },
  cleanUp() {},
});
