/** Answers calls that read much. Those of one instance take turns. */

import { accept, type Outcome } from "../../domain/refusal.ts";
import { sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { lengthOfParts } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { sendRefusal } from "../reply.ts";

/** Answers with the fields of what `find` returns, or with its refusal. */
export async function sendInTurn(
  edge: Pick<Edge, "service">,
  { requestId, owner }: Pick<Call, "requestId" | "owner">,
  find: () => Promise<Outcome<object>>,
  status = 200,
): Promise<Response> {
  async function make(): Promise<Outcome<[body: string]>> {
    const found = await find();
    return found.ok ? accept([JSON.stringify({ ok: true, ...found.value })]) : found;
  }
  const made = await longReadsOf(edge.service).run(owner, make, lengthOfParts);
  if (made === undefined) return sendRefusal(requestId, NO_TURN);
  if (!made.ok) return sendRefusal(requestId, made.refusal);
  return sendText(requestId, status, made.value[0]);
}
