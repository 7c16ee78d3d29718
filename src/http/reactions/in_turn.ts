/** Answers calls that read much. Those of one instance take turns. */

import { accept, type Outcome } from "../../domain/refusal.ts";
import { sendParts, sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { lengthOfParts } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { sendRefusal } from "../reply.ts";

type InEdge = Pick<Edge, "service">;
type Asked = Pick<Call, "requestId" | "owner">;

/** Answers with the fields of what `find` returns, or with its refusal. */
export function sendInTurn(
  edge: InEdge,
  call: Asked,
  find: () => Promise<Outcome<object>>,
  status = 200,
): Promise<Response> {
  async function make(): Promise<Outcome<string[]>> {
    const found = await find();
    return found.ok ? accept([JSON.stringify({ ok: true, ...found.value })]) : found;
  }
  return inTurn(edge, call, make, (parts) => sendText(call.requestId, status, parts.join("")));
}

/** Answers with a body that is made in parts, or with the refusal to make it. */
export function sendPartsInTurn(
  edge: InEdge,
  call: Asked,
  make: () => Promise<Outcome<string[]>>,
): Promise<Response> {
  return inTurn(edge, call, make, (parts) => sendParts(call.requestId, parts));
}

async function inTurn(
  { service }: InEdge,
  { requestId, owner }: Asked,
  make: () => Promise<Outcome<string[]>>,
  send: (parts: readonly string[]) => Response,
): Promise<Response> {
  const made = await longReadsOf(service).run(owner, make, lengthOfParts);
  if (made === undefined) return sendRefusal(requestId, NO_TURN);
  return made.ok ? send(made.value) : sendRefusal(requestId, made.refusal);
}
