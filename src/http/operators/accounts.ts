/** Operator accounts: login and new users. See docs/reference/operators.md. */

import { limits } from "../../domain/limits.ts";
import { callerAddress } from "../call.ts";
import { networkOf } from "../client_address.ts";
import { open, unrestricted } from "../endpoint.ts";
import { answer, TEXT, TIME } from "../openapi/schema.ts";
import { sendOutcome } from "../reply.ts";

const CREDENTIALS = { email: TEXT, password: { type: "string", format: "password" } } as const;
const EXAMPLE = { email: "jane@example.com", password: "correct horse battery" };

export const logIn = open("open", {
  id: "logIn",
  summary: "An operator token for email and password",
  fields: CREDENTIALS,
  bytesMax: limits.openBodyBytesMax,
  example: EXAMPLE,
  answers: { 200: answer({ token: TEXT, expires_at: TIME }) },
  errors: ["unauthorized", "login_locked"],
  async run(edge, call, _nobody, { body }) {
    const client = callerAddress(edge, call);
    const outcome = await edge.service.access.login({ ...body, network: networkOf(client) });
    if (!outcome.ok) {
      edge.host.log("warn", "Login refused", { request_id: call.requestId, client });
    }
    return sendOutcome(call.requestId, outcome);
  },
});

export const addUser = unrestricted({
  id: "addUser",
  summary: "Adds an account that may log in",
  fields: CREDENTIALS,
  example: EXAMPLE,
  answers: { 201: answer({ email: TEXT }) },
  errors: ["operator_input_invalid", "already_exists"],
  async run(edge, { requestId }, _operator, { body: { email, password } }) {
    return sendOutcome(requestId, await edge.service.access.addUser(email, password), 201);
  },
});
