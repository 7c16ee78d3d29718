/** Reads of aggregates: state, length, listing. See docs/reference/reading.md. */

import { accept, ACCEPTED, type Outcome } from "../../domain/refusal.ts";
import type { TailPage } from "../../features/feed/read_tail.ts";
import { NOT_KEPT, sendNothing, sendParts, sendText } from "../answer.ts";
import { sendTagged } from "../conditional.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { pollStream } from "../feed/long_poll.ts";
import { hasRoomForAnswer, lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { answer, COUNT, FREE_OBJECT, page, ref, type Schema, TEXT } from "../openapi/schema.ts";
import {
  badQuery,
  cursor,
  flag,
  length,
  LIVE_QUERY,
  PAGE_QUERY,
  type Parameter,
  seconds,
} from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { answerStateLive } from "./live_state.ts";
import { aggregateBody, aggregatePageBody, lengthOfState } from "./read_body.ts";

export const readAggregate = read({
  id: "readAggregate",
  summary: "The state of an aggregate",
  isTagged: true,
  query: {
    synchronous: flag(),
    at: seconds(),
    at_length: length({ description: "The state after that many events" }),
    ...LIVE_QUERY,
    after_length: length({ description: "With `live`: wait until there are more events" }),
  },
  answers: {
    200: answer({ data: FREE_OBJECT, metadata: ref("AggregateMetadata") }),
    204: null,
  },
  errors: [
    "identifier_invalid",
    "fold_budget_exceeded",
    "handler_error",
    "module_failed",
    "modules_unavailable",
    "aggregate_type_unknown",
    "aggregate_missing",
    "beyond_length",
  ],
  async run(edge, call, tenant, { query }) {
    const { synchronous, at: atSeconds, at_length: atLength } = query;
    const { live, wait: waitSeconds, after_length } = query;
    const [aggregateType = "", id = ""] = call.params;
    const isLive = live !== "no" && call.request.method !== "HEAD";
    if (isLive || after_length !== undefined || atLength !== undefined) {
      const fit = refuseTogether(query);
      if (!fit.ok) return sendRefusal(call.requestId, fit.refusal);
    }
    if (isLive) {
      const [name, afterLength] = [{ aggregateType, id }, after_length ?? 0];
      const asked = { name, synchronous, afterLength };
      if (live === "sse") return await answerStateLive(edge, call, tenant, asked);
      const isReady = ({ length }: TailPage) => length > afterLength;
      const waited = await pollStream(edge, call, tenant, { name, waitSeconds, isReady });
      if (!waited.ok) return answerRefused(edge, call, waited.refusal);
      if (!isReady(waited.value)) return sendNothing(call.requestId);
    }
    const request = { aggregateType, id, synchronous, atSeconds, atLength };
    const read = () => edge.service.data.readAggregate(tenant, request);
    const isNewest = atSeconds === undefined && atLength === undefined;
    const name = isNewest ? `${tenant.number}/${aggregateType}/${id}` : undefined;
    const turns = longReadsOf(edge.service);
    const outcome = await turns.runMostlyShort(call.owner, read, lengthOfState, name);
    if (outcome === undefined) return answerRefused(edge, call, NO_TURN);
    if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
    const { dataJson, version } = outcome.value;
    // Checked before any work with a text of megabytes.
    if (version !== undefined && !hasRoomForAnswer(call.owner, dataJson.length)) {
      return answerRefused(edge, call, NO_TURN);
    }
    const body = aggregateBody(outcome.value);
    return isLive
      ? sendParts(call.requestId, body, NOT_KEPT)
      : await sendTagged(call, body, version);
  },
});

/** What does not go together: a state is of one moment, and a live one is the newest. */
function refuseTogether({ live, at, at_length, after_length }: StateQuery): Outcome<unknown> {
  if (live === "no" && after_length !== undefined) return badQuery("after_length", "needs live");
  if (live !== "no" && at !== undefined) return badQuery("at", "cannot be combined with live");
  if (at_length === undefined) return ACCEPTED;
  if (live !== "no") return badQuery("at_length", "cannot be combined with live");
  return at === undefined ? ACCEPTED : badQuery("at_length", "cannot be combined with at");
}

interface StateQuery {
  readonly live: string;
  readonly at: number | undefined;
  readonly at_length: number | undefined;
  readonly after_length: number | undefined;
}

export const readLength = read({
  id: "readLength",
  summary: "How many events an aggregate has",
  answers: { 200: answer({ length: COUNT }) },
  errors: ["aggregate_type_unknown", "identifier_invalid"],
  async run(edge, { requestId, params: [aggregateType = "", id = ""] }, tenant) {
    const outcome = await edge.service.data.readLength(tenant, aggregateType, id);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    return sendText(requestId, 200, `{"ok":true,"length":${outcome.value}}`);
  },
});

export const listAggregates = read({
  id: "listAggregates",
  summary: "The ids of one type, or their states",
  query: {
    ...PAGE_QUERY,
    cursor: cursor({ deprecated: true, description: "Older name of `start`" }),
    prefix: idPrefix(),
    resolve: flag(),
    synchronous: flag(),
  },
  answers: { 200: withCursor(page({ anyOf: [TEXT, ref("ListedAggregate")] })) },
  errors: ["aggregate_type_unknown", "module_failed", "modules_unavailable"],
  async run(edge, call, tenant, { query: { limit, cursor, start = cursor, ...how } }) {
    const [aggregateType = ""] = call.params;
    const request = { aggregateType, limit, start, ...how };
    async function read(): Promise<Outcome<Part[]>> {
      const outcome = await edge.service.data.listAggregates(tenant, request);
      return outcome.ok ? accept(aggregatePageBody(outcome.value, request.resolve)) : outcome;
    }
    const body = request.resolve
      ? await longReadsOf(edge.service).run(call.owner, read, lengthOfParts)
      : await read();
    if (body === undefined) return answerRefused(edge, call, NO_TURN);
    return body.ok
      ? sendParts(call.requestId, body.value)
      : answerRefused(edge, call, body.refusal);
  },
});

/** The longest that an identifier can be: the name of a singleton. */
const PREFIX_CHARACTERS_MAX = 256;
// deno-lint-ignore no-control-regex -- control characters are just what is looked for
const IN_NO_ID = /[/\\\u0000-\u001f\u007f]/;

/** With what ids begin, in their canonical form. Empty counts as absent: all ids begin so. */
function idPrefix(): Parameter<string | undefined> {
  return {
    schema: { type: "string", description: "Only ids that begin so, as they are listed" },
    decode(text, name) {
      if (text !== null && text.length > PREFIX_CHARACTERS_MAX) {
        return badQuery(name, `must be at most ${PREFIX_CHARACTERS_MAX} characters`);
      }
      if (text === null || !IN_NO_ID.test(text)) return accept(text || undefined);
      return badQuery(name, "has a slash, a backslash or a control character, which no id has");
    },
  };
}

function withCursor(schema: Schema): Schema {
  const cursor = { type: "string", deprecated: true, description: "The same as `next_start`" };
  return { ...schema, properties: { ...schema.properties as Schema, cursor } };
}
