/** The lives of API keys in a trace: issued, used, rotated or ended by a date, revoked. */

import type { Operation, RequestOperation } from "./operation.ts";
import { asOperator } from "./operator_operations.ts";
import { pickPlace, type Place, request, type TraceModel } from "./trace_model.ts";

interface Life {
  readonly model: TraceModel;
  readonly place: Place;
  /** The name that holds the key's text; `<name>_id` holds its id. */
  readonly key: string;
}

/** A key from its first to its last day. */
export function liveOfKey(model: TraceModel): Operation[] {
  const place = pickPlace(model);
  const key = `key_${model.keysIssued++}`;
  const life: Life = { model, place, key };
  const issue = asOperator(model, "issue_key", {
    method: "POST",
    path: `/api/instances/{{${place.slug}_id}}/keys`,
    json: {
      name: `Key ${model.keysIssued}`,
      scope: model.random.pick(["read", "write"]),
      environment: place.environment,
    },
  }, { save: { [key]: "key", [`${key}_id`]: "id" } });
  const uses = [readWith(life), writeWith(life)];
  const middle = model.turn(MIDDLES)(life);
  const end = [revoke(life), readWith(life), revoke(life)];
  return [issue, ...uses, ...middle, ...end];
}

const MIDDLES: readonly ((life: Life) => Operation[])[] = [rotated, endedByDate, () => []];

/** The old text stops working together with the new one. */
function rotated(life: Life): Operation[] {
  const { key } = life;
  const old = `${key}_old`;
  // A second rotation makes the first one's text the old one.
  const first = onKey(life, "rotate_key", {
    ending: "/rotate",
    more: { save: { [key]: "key", [old]: "key" } },
  });
  const second = onKey(life, "rotate_key", { ending: "/rotate", more: { save: { [key]: "key" } } });
  return [first, readWith(life), second, readWith({ ...life, key: old }), readWith(life)];
}

function endedByDate(life: Life): Operation[] {
  const { model } = life;
  const json = { revoke_at: new Date(model.nowMs + 5_000).toISOString() };
  return [
    onKey(life, "schedule_revocation", {
      ending: "/schedule_revocation",
      more: { advanceMs: 0 },
      json,
    }),
    readWith(life, 4_000),
    readWith(life, 1_000),
    onKey(life, "rotate_key", { ending: "/rotate" }),
  ];
}

function revoke({ model, key }: Life): Operation {
  return asOperator(model, "revoke_key", { method: "DELETE", path: `/api/keys/{{${key}_id}}` });
}

interface KeyCall {
  readonly ending: string;
  readonly more?: Partial<RequestOperation>;
  readonly json?: { readonly revoke_at: string };
}

function onKey(
  { model, key }: Life,
  name: string,
  { ending, more = {}, json }: KeyCall,
): Operation {
  const path = `/api/keys/{{${key}_id}}${ending}`;
  return asOperator(model, name, { method: "POST", path, json }, more);
}

function readWith({ model, place, key }: Life, advanceMs = 0): Operation {
  const as = { header: `Bearer {{${key}}}` };
  const { environment } = place;
  const sent = { environment, as, method: "GET", path: "/note/global/length" };
  return request(model, "use_key", sent, { advanceMs });
}

/** Refused because of a read key's scope or, with a write key, because of its event type. */
function writeWith({ model, place, key }: Life): Operation {
  const as = { header: `Bearer {{${key}}}` };
  const { environment } = place;
  const path = "/note/global/no_such_event";
  const json = { data: {}, metadata: {} };
  return request(model, "use_key", { environment, as, method: "POST", path, json });
}
