/**
 * Clients that send HTTP requests to a node's application in this process. Requests and replies
 * are JSON, as over the wire. See docs/reference/basics.md.
 */

import type { JsonObject } from "../../src/domain/json.ts";
import type { WriteRequest } from "../../src/domain/write/write.ts";
import type { Census } from "./census.ts";
import { type Entrance, NothingHeard, type Reply, type Told } from "./entrance.ts";
import { API_KEY } from "./founding.ts";
import type { Journal } from "./journal.ts";
import type { Node } from "./node.ts";

/** A reply that is not an outage. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- whoever reads it says what it expects
  readonly body: any;
}

export interface HttpEntrance extends Entrance {
  get(node: Node, path: string): Promise<HttpReply>;
}

/**
 * Records the id of each request in the journal, so that stored traces of requests can be
 * checked.
 */
export function openHttpEntrance(journal: Journal, census: Census): HttpEntrance {
  async function send(
    node: Node,
    method: string,
    path: string,
    { body, key }: { readonly body?: JsonObject; readonly key?: string } = {},
  ): Promise<HttpReply> {
    const id = `request-${journal.requests.size + 1}`;
    journal.requests.add(id);
    const response = await node.answer(
      new Request(`http://node.example${path}`, {
        method,
        headers: {
          authorization: `Bearer ${API_KEY}`,
          "x-request-id": id,
          ...body !== undefined && { "content-type": "application/json" },
          ...key !== undefined && { "x-idempotency-key": key },
        },
        body: body === undefined ? undefined : JSON.stringify(body),
      }),
    );
    const { status, headers } = response;
    const reply = { status, headers, body: JSON.parse(await response.text()) };
    refuseWrong(journal, id, reply);
    census.count("requests over HTTP");
    if (status !== 503) return reply;
    census.count("requests answered with 503");
    throw new NothingHeard(`${method} ${path}`);
  }

  return {
    get: (node, path) => send(node, "GET", path),
    async write(node, request) {
      const key = request.idempotency?.key;
      const reply = await send(node, "POST", pathOf(request), { body: bodyOf(request), key });
      return replyTo(reply, () => toldOf(request, reply));
    },
    async listScheduled(node) {
      const { body } = await send(node, "GET", "/_scheduled?limit=50");
      return body.data.map((each: { scheduled_id: string }) => each.scheduled_id);
    },
    async cancelScheduled(node, id) {
      return replyTo(await send(node, "DELETE", `/_scheduled/${id}`), () => undefined);
    },
  };
}

/** Throws on a reply that must never occur. */
function refuseWrong({ requests }: Journal, id: string, { status, headers, body }: HttpReply) {
  const isReplay = headers.get("x-idempotency-replayed") === "true";
  const name = headers.get("x-request-id") ?? "";
  const isOk = status < 400;
  const isRight = (status < 500 || status === 503) && body.ok === isOk &&
    isOk === (body.error === undefined) && (isReplay ? requests.has(name) : name === id);
  if (!isRight) throw new Error(`${id} was answered ${status} ${JSON.stringify(body)}`);
}

function replyTo<T>({ status, headers }: HttpReply, read: () => T): Reply<T> {
  if (status < 400) return { ok: true, value: read() };
  return { ok: false, isBusy: status === 409 && headers.has("retry-after") };
}

function pathOf({ form, targets }: WriteRequest): string {
  const { aggregateType, id, events } = targets[0]!;
  if (form === "atomic") return "/_atomic-write";
  return `/${aggregateType}/${id}${form === "single" ? `/${events[0]!.type}` : ""}`;
}

function bodyOf({ form, targets, metadata }: WriteRequest): JsonObject {
  const own = targets.map(({ aggregateType, id, events }) => ({
    aggregate_type: aggregateType,
    id,
    events: events.map(({ type, data }) => ({ type, data: data as JsonObject })),
  }));
  const { events } = own[0]!;
  const shared = { metadata: metadata as JsonObject };
  if (form === "single") return { data: events[0]!.data, ...shared };
  return form === "batch" ? { events, ...shared } : { targets: own, ...shared };
}

function toldOf({ form, targets }: WriteRequest, { status, headers, body }: HttpReply): Told {
  if (status !== 201) throw new Error(`a write was answered ${status}`);
  const keys = targets.map(({ aggregateType, id }) => `${aggregateType}:${id}`);
  const lists: string[][] = form === "single"
    ? [[body.stream_id]]
    : form === "batch"
    ? [body.stream_ids]
    : keys.map((key) => body.stream_ids[key]);
  for (const [index, ids] of lists.entries()) {
    const first = Number(ids[0]);
    const isRow = ids.length === targets[index]!.events.length &&
      ids.every((id, offset) => Number(id) === first + offset);
    if (!isRow) throw new Error(`${keys[index]} was written at ${ids}`);
  }
  return {
    places: keys.map((key, index) => ({ key, first: Number(lists[index]![0]) })),
    impliedCount: form === "atomic" ? undefined : body.implied_count ?? 0,
    replayed: headers.get("x-idempotency-replayed") === "true",
  };
}
