/** `write`: writes one event, with an idempotency key, so that nothing is written twice. */

import { isJsonObject, type JsonObject } from "../../domain/json.ts";
import { parseAggregateKey, pathOfKey } from "./aggregate_key.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface WriteOptions extends CommonOptions {
  readonly data?: string;
  readonly actor?: string;
  readonly target?: string;
  readonly previousLength?: string;
  readonly timestamp?: string;
  readonly idempotencyKey?: string;
}

const KEY_BYTES = 16;

export async function write(
  key: string,
  eventType: string,
  options: WriteOptions,
): Promise<void> {
  const session = await openSession(options);
  const { output, host, environment } = session;
  const path = `${pathOfKey(output, key)}/${encodeURIComponent(eventType)}`;
  const data = await readData(session, options.data);
  const metadata: JsonObject = {
    actor: options.actor === undefined
      ? await onlyActor(session)
      : partyOrExit(session, "--actor", options.actor),
    ...(options.target && { target: partyOrExit(session, "--target", options.target) }),
    ...numberOf(session, "previous_length", "--previous-length", options.previousLength),
    ...numberOf(session, "timestamp", "--timestamp", options.timestamp),
  };
  const idempotencyKey = options.idempotencyKey ?? host.randomBytes(KEY_BYTES).toHex();
  const headers = { "x-idempotency-key": idempotencyKey };
  const answer = await session.data({ method: "POST", path, body: { data, metadata }, headers });
  const { stream_id, implied_count } = answer;
  const value = { key, type: eventType, stream_id, ...(implied_count && { implied_count }) };
  output.result({ ...value, idempotency_key: idempotencyKey }, () => {
    const implied = implied_count === undefined ? "" : `, which set off ${implied_count} more`;
    const index = /^\d+$/.test(String(stream_id)) ? Number(stream_id) : stream_id;
    return `Wrote ${eventType} to ${key} of ${environment} as #${index}${implied}.`;
  });
}

/** JSON, `@file`, or `-` for standard input; `{}` if nothing is given. */
async function readData({ output }: Session, text = "{}"): Promise<JsonObject> {
  const fail = (error: string) =>
    output.fail({
      error,
      error_type: "misused",
      hint: `Give an object of JSON, @file, or - for standard input: --data '{"sku": "TEA-1"}'`,
    }, EXIT_MISUSED);
  let json = text;
  try {
    if (text === "-") json = await new Response(Deno.stdin.readable).text();
    else if (text.startsWith("@")) json = await Deno.readTextFile(text.slice(1));
  } catch (error) {
    return fail(`${text} cannot be read: ${reasonOf(error)}`);
  }
  let data: unknown;
  try {
    data = parseJson(json);
  } catch (error) {
    return fail(`--data is not JSON: ${reasonOf(error)}`);
  }
  return isJsonObject(data) ? data : fail("--data must be an object.");
}

function partyOrExit({ output }: Session, option: string, text: string): JsonObject {
  const party = parseAggregateKey(text);
  if (party !== undefined) return { ...party };
  return output.fail({
    error: `${option} must be <type>:<id>, for example user:global, not '${text}'.`,
    error_type: "misused",
  }, EXIT_MISUSED);
}

function numberOf(
  { output }: Session,
  field: string,
  option: string,
  text: string | undefined,
): JsonObject {
  if (text === undefined) return {};
  if (/^\d{1,15}$/.test(text)) return { [field]: Number(text) };
  const error = `${option} must be a whole number from 0, not '${text}'.`;
  return output.fail({ error, error_type: "misused" }, EXIT_MISUSED);
}

/** Who writes, where the spec leaves no choice; the API always wants to know. */
async function onlyActor(session: Session): Promise<JsonObject> {
  const { output, environment, server } = session;
  const types = server.token === undefined ? [] : await actorTypes(session);
  if (types.length === 1) return { type: types[0]!, id: "global" };
  const known = types.length === 0 ? "" : ` ${environment} knows: ${types.join(", ")}.`;
  return output.fail({
    error: "Who writes? --actor <type>:<id> is missing.",
    error_type: "misused",
    hint: `For example --actor ${types[0] ?? "user"}:global.${known}`,
  }, EXIT_MISUSED);
}

export async function actorTypes(session: Session): Promise<string[]> {
  const { environment } = session;
  const path = `/api/instances/${await session.instanceId()}/spec`;
  const answer = await session.tryOperator({ path, query: { environment } });
  const spec = answer.ok ? answer.body.spec : undefined;
  const types = isJsonObject(spec) ? spec.agent_types : undefined;
  return Array.isArray(types) ? types.map(String) : [];
}
