/** A runner that allocates until memory runs out: the engine's, buffers', or SQLite's. */

import { DatabaseSync } from "node:sqlite";
import { serveRequests } from "../../../src/runners/serve_requests.ts";
import type { AnswerMessage } from "../../../src/runners/runner_process.ts";

const MEBIBYTE = 1024 * 1024;
/** Far beyond every limit: a runner that gets this much is not limited. */
const ENOUGH_MEBIBYTES = 2_048;

interface HogRequest {
  readonly kind: "engine" | "buffers" | "sqlite";
}

interface HogAnswer extends AnswerMessage {
  readonly kind: "no_memory" | "enough";
}

function takeAll({ kind }: HogRequest): HogAnswer["kind"] {
  const held: unknown[] = [];
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE TABLE held (value)");
  try {
    for (let taken = 0; taken < ENOUGH_MEBIBYTES; taken++) {
      if (kind === "engine") held.push(Array.from({ length: MEBIBYTE / 8 }, Math.sqrt));
      else if (kind === "buffers") held.push(new Uint8Array(MEBIBYTE).fill(1));
      else database.exec(`INSERT INTO held VALUES (zeroblob(${MEBIBYTE}))`);
    }
    return "enough";
  } catch {
    return "no_memory";
  } finally {
    database.close();
  }
}

serveRequests<HogRequest, HogAnswer>({
  answer: ({ message }) => ({
    message: { kind: takeAll(message), tookMs: 0, pauses: false },
    body: new Uint8Array(0),
  }),
  cleanUp() {},
});
