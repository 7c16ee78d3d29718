/** Backups of the whole deployment, and the pause after a restore. See docs/operate/backup.md. */

import { limits } from "../../domain/limits.ts";
import type { Host } from "../../host.ts";
import { sendOk } from "../answer.ts";
import type { Call } from "../call.ts";
import { openDeadlines } from "../deadlines.ts";
import { unrestricted } from "../endpoint.ts";
import { answer, BOOLEAN, choice, TIME } from "../openapi/schema.ts";
import { sendRefusal } from "../reply.ts";

export const takeBackup = unrestricted({
  id: "takeBackup",
  summary: "The whole deployment as of one moment, as one file",
  answers: { 200: "application/octet-stream" },
  errors: ["no_room"],
  async run(edge, call) {
    const begun = edge.service.backup.begin();
    if (!begun.ok) return sendRefusal(call.requestId, begun.refusal);
    const bytes = begun.value;
    // What fails before the first byte is answered as any failure.
    const first = await bytes.next();
    edge.host.log("info", "A backup has begun", { request_id: call.requestId });
    return new Response(streamOf(bytes, first, edge.host, call), {
      headers: {
        "content-type": "application/octet-stream",
        "content-disposition": 'attachment; filename="daybook.backup"',
        "cache-control": "no-store",
        "x-request-id": call.requestId,
        "access-control-allow-origin": "*",
      },
    });
  },
});

type Bytes = Uint8Array<ArrayBuffer>;
type Taken = IteratorResult<Bytes, void>;

const stalls = openDeadlines(limits.answerStallSecondsMax);

/** Reads on when the client has taken what was read. A client that takes nothing is cut off. */
function streamOf(
  bytes: AsyncGenerator<Bytes, void, void>,
  first: Taken,
  host: Host,
  { requestId }: Call,
): ReadableStream<Bytes> {
  let next: Taken | undefined = first;
  let endStall = () => {};

  async function end(outcome: string): Promise<void> {
    endStall();
    host.log("info", `A backup ${outcome}`, { request_id: requestId });
    await bytes.return();
  }

  return new ReadableStream<Bytes>({
    async pull(controller) {
      endStall();
      try {
        const { done, value } = next ?? await bytes.next();
        next = undefined;
        if (done === true) {
          controller.close();
          return await end("is complete");
        }
        controller.enqueue(value);
      } catch (error) {
        // The bytes before this say so too; the connection closes without the end of the body.
        controller.error(error);
        return await end(`has failed: ${error instanceof Error ? error.message : error}`);
      }
      endStall = stalls.start(() => {
        controller.error(new Error("The client has taken nothing"));
        end("was ended: its client has taken nothing for a while");
      });
    },
    cancel: () => end("was ended by its client"),
  }, { highWaterMark: 0 });
}

const RESTORED = answer({ paused: BOOLEAN, "restored_at?": TIME, "moment?": TIME });

export const readRestored = unrestricted({
  id: "readRestored",
  summary: "Whether the deployment was restored and still waits",
  answers: { 200: RESTORED },
  async run(edge, call) {
    return sendOk(call.requestId, { ...await edge.service.backup.readRestored() });
  },
});

export const resumeRestored = unrestricted({
  id: "resumeRestored",
  summary: "Lets a restored deployment react, deliver and make anchors again",
  fields: { action: choice(["resume"]) },
  example: { action: "resume" },
  answers: { 200: RESTORED },
  errors: ["operator_input_invalid"],
  async run(edge, call, _operator, { body: { action } }) {
    if (action !== "resume") {
      const message = "action must be resume";
      return sendRefusal(call.requestId, {
        kind: "operator_input_invalid",
        path: "action",
        message,
      });
    }
    await edge.service.backup.resumeRestored();
    return sendOk(call.requestId, { ...await edge.service.backup.readRestored() });
  },
});
