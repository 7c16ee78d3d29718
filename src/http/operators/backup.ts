/** Backups of the whole deployment, and the pause after a restore. See docs/operate/backup.md. */

import { sendOk } from "../answer.ts";
import { unrestricted } from "../endpoint.ts";
import { streamAsTaken } from "../long_answer.ts";
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
    let first: Awaited<ReturnType<typeof bytes.next>> | undefined = await bytes.next();
    const { host } = edge;
    const about = { request_id: call.requestId };
    host.log("info", "A backup has begun", about);
    const source = {
      async next() {
        const next = first ?? await bytes.next();
        first = undefined;
        return next;
      },
      return: () => bytes.return(),
    };
    const body = streamAsTaken(
      source,
      (outcome) => host.log("info", `A backup ${outcome}`, about),
    );
    return new Response(body, {
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
