/** The usage of an environment against its plan. See docs/reference/operators.md. */

import { TIERS } from "../../domain/access/access.ts";
import { accept } from "../../domain/refusal.ts";
import { sendOk } from "../answer.ts";
import { operator } from "../endpoint.ts";
import { badField } from "../fields.ts";
import { answer, choice, COUNT, TEXT, TIME } from "../openapi/schema.ts";
import { ENVIRONMENT_QUERY, findOperatorTenant } from "../operator_tenant.ts";
import { type Parameter, text } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";

const MONTH_FORM = /^[0-9]{4}-(?:0[1-9]|1[0-2])$/;
const MONTH: Parameter<string | undefined> = {
  ...text({ description: "Such as `2030-01`" }),
  decode(text, name) {
    if (text === null || MONTH_FORM.test(text)) return accept(text ?? undefined);
    return badField(name, "month must be a year and a month such as 2030-01");
  },
};

export const readUsage = operator({
  id: "readUsage",
  summary: "Events of a month, and how many the plan allows",
  query: { ...ENVIRONMENT_QUERY, month: MONTH },
  answers: {
    200: answer({
      instance_id: TEXT,
      environment: TEXT,
      tier: choice(TIERS),
      month: TEXT,
      events_written: COUNT,
      limit: { type: ["integer", "null"], minimum: 0 },
      resets_at: TIME,
    }),
  },
  errors: ["bad_request", "not_found"],
  async run(edge, call, operator, asked) {
    const { access, limits } = edge.service;
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const instance = await access.readInstance(operator, tenant.value.instanceId);
    if (!instance.ok) return sendRefusal(call.requestId, instance.refusal);
    const { tier } = instance.value;
    return sendOk(call.requestId, await limits.readUsage(tenant.value, tier, asked.query.month));
  },
});
