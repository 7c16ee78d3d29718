/** Typical mistakes of newcomers: each is refused with one sentence that says what to do. */

import assert from "node:assert/strict";
import { settleProjections } from "../support/settle_projections.ts";
import { operatorClaims, type SendOptions, signToken, withWorld, type World } from "./world.ts";
import { ACTOR, METADATA, noteBody } from "./world_spec.ts";

interface Mistake {
  readonly name: string;
  readonly call: string;
  readonly options: SendOptions;
  readonly status: number;
  /** In `hint`, or in `error` if that already says it. */
  readonly says: string | RegExp;
}

const SINGLE = "POST /note/global/was_written";
const BATCH = "POST /note/global";
const ATOMIC = "POST /_atomic-write";
const DEPLOY = "POST /api/instances/{instance}/spec";
const EVENT = { type: "was_written", data: { text: "a" } };
const TARGET = { aggregate_type: "note", id: "global", events: [EVENT] };
const MS = Date.UTC(2026, 0, 1);

interface Answer {
  readonly status: number;
  readonly says: string | RegExp;
}

function row(
  name: string,
  call: string,
  body: unknown,
  { status, says }: Answer,
): Mistake {
  return { name, call, options: { body }, status, says };
}

const WRITES: readonly Mistake[] = [
  row("data at the top", SINGLE, { text: "a", metadata: METADATA }, {
    status: 400,
    says: /belong in `data`/,
  }),
  row(
    "previous_length at the top",
    SINGLE,
    { data: { text: "a" }, metadata: METADATA, previous_length: 0 },
    { status: 400, says: "`previous_length` belongs in `metadata`" },
  ),
  row(
    "the actor at the top",
    SINGLE,
    { data: { text: "a" }, actor: ACTOR },
    { status: 400, says: "`actor` belongs in `metadata`" },
  ),
  row(
    "a batch sent to the path of one event",
    SINGLE,
    { events: [EVENT], metadata: METADATA },
    { status: 400, says: /POST \/\{type\}\/\{id\}, without the event type, takes `events`/ },
  ),
  row(
    "one event sent to the path of a batch",
    BATCH,
    { data: { text: "a" }, metadata: METADATA },
    { status: 400, says: /POST \/\{type\}\/\{id\}\/\{event_type\} takes one event/ },
  ),
  row(
    "event_type in a batch",
    BATCH,
    { events: [{ event_type: "was_written", data: { text: "a" } }], metadata: METADATA },
    { status: 400, says: "It is called `type` here" },
  ),
  row(
    "fields of the event beside its type",
    BATCH,
    { events: [{ type: "was_written", text: "a" }], metadata: METADATA },
    { status: 400, says: /belong in its `data`/ },
  ),
  row(
    "metadata in each event",
    BATCH,
    { events: [{ ...EVENT, metadata: METADATA }], metadata: METADATA },
    { status: 400, says: /stands beside the list of events/ },
  ),
  row(
    "aggregate_id in a target",
    ATOMIC,
    {
      targets: [{ aggregate_type: "note", aggregate_id: "global", events: [EVENT] }],
      metadata: METADATA,
    },
    { status: 422, says: "It is called `id` here" },
  ),
  row(
    "type in a target",
    ATOMIC,
    { targets: [{ ...TARGET, type: "note" }], metadata: METADATA },
    { status: 422, says: "It is called `aggregate_type` here" },
  ),
  row(
    "a typo in an aggregate type",
    "POST /nots/global/was_written",
    noteBody("a"),
    { status: 404, says: 'Did you mean "note"?' },
  ),
  row("a typo in an event type", "POST /note/global/was_writen", noteBody("a"), {
    status: 404,
    says: /was_written/,
  }),
  row(
    "a typo in an event type of an atomic write",
    ATOMIC,
    { targets: [{ ...TARGET, events: [{ ...EVENT, type: "was_writen" }] }], metadata: METADATA },
    { status: 422, says: 'Did you mean "was_written"?' },
  ),
  row(
    "a typo in an actor's type",
    SINGLE,
    { data: { text: "a" }, metadata: { actor: { ...ACTOR, type: "usr" } } },
    { status: 422, says: 'Did you mean "user"?' },
  ),
  row(
    "a timestamp in milliseconds",
    SINGLE,
    noteBody("a", { timestamp: MS }),
    { status: 422, says: "Send 1767225600" },
  ),
  row("a moment in milliseconds", `GET /note/global?at=${MS}`, undefined, {
    status: 400,
    says: /in milliseconds/,
  }),
];

const SPEC = { aggregate_types: { note: { events: {} } }, agent_types: ["user"] };
const OPERATORS: readonly Mistake[] = [
  row("a spec without its envelope", DEPLOY, SPEC, {
    status: 400,
    says: /in an envelope: \{"spec": /,
  }),
  row(
    "listeners at the root of a spec",
    DEPLOY,
    { environment: "test", spec: { ...SPEC, listeners: {} } },
    { status: 422, says: /Listeners belong in "modules"/ },
  ),
  row(
    "sagas at the root of a spec",
    DEPLOY,
    { environment: "test", spec: { ...SPEC, sagas: {} } },
    { status: 422, says: /Sagas belong in "modules"/ },
  ),
  {
    name: "an operator token that has expired",
    call: "GET /api/instances",
    options: { token: signToken(operatorClaims({ exp: 1_000 })) },
    status: 401,
    says: /`main\.ts token`/,
  },
];

const READS: readonly Mistake[] = [
  row(
    "an attestation before the first anchor",
    "GET /note/global/audit/attestation/0",
    undefined,
    { status: 404, says: /POST \/_admin\/anchors makes one now/ },
  ),
  row(
    "SQL before there is a projection",
    "POST /_projections/query",
    { sql: "SELECT * FROM notes" },
    { status: 422, says: "There are no tables: each projection that is ready is one" },
  ),
];

async function check(world: World, { call, options, status, says }: Mistake): Promise<void> {
  const [method = "", path = ""] = call.split(" ", 2);
  const answer = await world.send(method, path.replace("{instance}", world.instanceId), options);
  assert.equal(answer.status, status, answer.text);
  const { error, hint, violations } = answer.body;
  const told = [error, hint, violations?.[0]?.hint].filter((text) => text !== undefined);
  const isSaid = told.some((text) => typeof says === "string" ? text === says : says.test(text));
  assert.ok(isSaid, answer.text);
}

for (const mistake of [...WRITES, ...OPERATORS, ...READS]) {
  Deno.test(`first mistakes: ${mistake.name}`, () => withWorld((world) => check(world, mistake)));
}

Deno.test("first mistakes: a table that is not there is told with those that are, or being built", () =>
  withWorld(async (world) => {
    const { send, instanceId, service } = world;
    const path = `/api/instances/${instanceId}/projections`;
    const projection = {
      name: "notes",
      for_each: "note",
      sources: { note: "$key" },
      select: { text: "$.note.text" },
    };
    const body = { environment: "test", projection };
    const deployed = await send("POST", path, { body });
    assert.equal(deployed.status, 201, deployed.text);
    const ask = async (table: string) =>
      (await send("POST", "/_projections/query", { body: { sql: `SELECT * FROM ${table}` } })).body;
    assert.match((await ask("notes")).hint, /^The projection notes is being built/);
    await settleProjections(service);
    assert.equal((await ask("note")).hint, 'Did you mean "notes"?');
    const { error, hint } = await ask("order_totals");
    assert.equal(error, "no such table: order_totals");
    assert.equal(hint, "Each projection that is ready is a table: notes");
  }));

Deno.test("first mistakes: before the first deploy the hint says what to do first, not what is near", () =>
  withWorld(async (world) => {
    const { status, body } = await world.send("POST", "/note/global/was_written", {
      body: noteBody("a"),
    });
    assert.equal(status, 404);
    assert.match(body.hint, /^No spec is deployed to this environment yet: POST /);
  }, { spec: null }));
