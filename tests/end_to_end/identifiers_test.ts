/**
 * Identifiers, at each of the three places where one may appear. See
 * docs/reference/identifiers.md.
 */

import assert from "node:assert/strict";
import { withWorld } from "./world.ts";
import { noteBody, uuid } from "./world_spec.ts";

const V4 = "5b3e1a7c-9d24-4f6a-8b1e-0c2d3e4f5a6b";

/** As sent, and as stored; undefined if it is refused. */
const IDENTIFIERS: readonly (readonly [name: string, sent: string, canonical?: string])[] = [
  ["a UUID of version 4 is kept", V4, V4],
  ["a UUID of version 5 is kept", V4.replace("-4", "-5"), V4.replace("-4", "-5")],
  ["a UUID in upper case is stored in lower case", V4.toUpperCase(), V4],
  ["a UUID of variant 9 is kept", V4.replace("-8", "-9"), V4.replace("-8", "-9")],
  ["a UUID of variant a is kept", V4.replace("-8", "-a"), V4.replace("-8", "-a")],
  ["a UUID of variant B is kept", V4.replace("-8", "-B"), V4.replace("-8", "-b")],
  ["a UUID of variant 7 is refused", V4.replace("-8", "-7")],
  ["a UUID of variant c is refused", V4.replace("-8", "-c")],
  ...["0", "1", "2", "3", "6", "7", "8", "f"].map((version) =>
    [`a UUID of version ${version} is refused`, V4.replace("-4", `-${version}`)] as const
  ),
  ["a UUID without hyphens is refused", V4.replaceAll("-", "")],
  ["a UUID in braces is refused", `{${V4}}`],
  ["a humane code of nine digits is kept", "123456789", "123456789"],
  ["a humane code is stored in upper case", "abcdefghj", "ABCDEFGHJ"],
  ["in a humane code I and L become 1, O becomes 0, U becomes V", "ilouILOU9", "110V110V9"],
  [
    "all 32 symbols of a humane code are kept (1)",
    "0123456789ABCDEFGHJKMNPQRSTVWXYZ".slice(0, 9),
    "012345678",
  ],
  ["all 32 symbols of a humane code are kept (2)", "9ABCDEFGH", "9ABCDEFGH"],
  ["all 32 symbols of a humane code are kept (3)", "JKMNPQRST", "JKMNPQRST"],
  ["all 32 symbols of a humane code are kept (4)", "VWXYZVWXY", "VWXYZVWXY"],
  ["a code of eight characters is refused", "ABCDEFGH"],
  ["a code of ten characters is refused", "ABCDEFGHJK"],
  ["a code with another character is refused", "ABCD-FGHJ"],
  ["a code with a letter beyond ASCII is refused", "ABCDÉFGHJ"],
  ["global is implicit for every type", "global", "global"],
  ["GLOBAL is no singleton", "GLOBAL"],
  ["a declared singleton is an identifier", "main", "main"],
  ["a declared singleton of nine letters stays a singleton", "inventory", "inventory"],
  ["a singleton in another case is a humane code", "INVENTORY", "1NVENT0RY"],
  ["an undeclared name of nine letters is a humane code", "warehouse", "WAREH0VSE"],
  ["an undeclared name is refused", "nowhere"],
  ["a tagged UUID is kept", `${V4}:draft`, `${V4}:draft`],
  ["the UUID half of a tagged UUID is stored in lower case", `${V4.toUpperCase()}:a`, `${V4}:a`],
  ["a tag of ten characters is kept", `${V4}:abcdefgh12`, `${V4}:abcdefgh12`],
  ["a tag of eleven characters is refused", `${V4}:abcdefgh123`],
  ["an empty tag is refused", `${V4}:`],
  ["a tag in upper case is refused", `${V4}:Draft`],
  ["a tag with another character is refused", `${V4}:a_b`],
  ["two tags are refused", `${V4}:a:b`],
  ["a tag on a UUID of version 1 is refused", `${V4.replace("-4", "-1")}:a`],
  ["a tagged humane code is refused", "ABCDEFGHJ:a"],
  ["white space is refused", " global"],
];

for (const [name, sent, canonical] of IDENTIFIERS) {
  Deno.test(`identifiers: ${name}, as key, actor id and target id`, () =>
    withWorld(async ({ send }) => {
      const path = `/note/${encodeURIComponent(sent)}`;
      const byKey = await send("POST", `${path}/was_written`, { body: noteBody("a") });
      const byActor = await send("POST", "/note/main/was_written", {
        body: noteBody("a", { actor: { type: "user", id: sent } }),
      });
      const byTarget = await send("POST", "/note/main/was_written", {
        body: noteBody("a", { target: { type: "customer", id: sent } }),
      });
      const answers = [byKey, byActor, byTarget];
      if (canonical === undefined) {
        assert.deepEqual(answers.map(({ status }) => status), [422, 422, 422]);
        const paths = answers.map(({ body }) => body.path);
        assert.deepEqual(paths, ["key", "metadata.actor.id", "metadata.target.id"]);
        for (const { body } of answers) assert.equal(body.error_type, "identifier_invalid");
        for (const read of [path, `${path}/length`, `${path}/events`]) {
          const { status, body } = await send("GET", read);
          assert.equal(status, 422, read);
          assert.equal(body.path, "key");
        }
        return;
      }
      assert.deepEqual(answers.map(({ status }) => status), [201, 201, 201], byKey.text);
      const stored = (await send("GET", `/note/${encodeURIComponent(canonical)}/events`)).body.data;
      assert.equal(stored[0].event.key, `note:${canonical}`);
      const main = (await send("GET", "/note/main/events")).body.data.slice(-2);
      assert.equal(main[0].event.metadata.actor.id, canonical);
      assert.equal(main[1].event.metadata.target.id, canonical);
      assert.equal((await send("GET", path)).body.metadata.length >= 1, true);
      assert.ok((await send("GET", "/note")).body.data.includes(canonical));
    }));
}

Deno.test("identifiers: <uuid>, <uuid>:a and <uuid>:b are three streams", () =>
  withWorld(async ({ send }) => {
    const ids = [uuid(1), `${uuid(1)}:a`, `${uuid(1)}:b`];
    for (const id of ids) {
      const body = noteBody(id, { previous_length: 0 });
      assert.equal((await send("POST", `/note/${id}/was_written`, { body })).status, 201);
    }
    assert.deepEqual((await send("GET", "/note")).body.data, ids);
  }));

Deno.test("identifiers: all spellings of one id share one OCC counter", () =>
  withWorld(async ({ send }) => {
    for (const [index, id] of ["oiluOILU9", "0IlV01lu9", "011V011V9"].entries()) {
      const body = noteBody("a", { previous_length: index });
      assert.equal((await send("POST", `/note/${id}/was_written`, { body })).status, 201, id);
    }
  }));

Deno.test("identifiers: a singleton is one stream for each aggregate type", () =>
  withWorld(async ({ send }) => {
    await send("POST", "/note/main/was_written", { body: noteBody("a") });
    assert.equal((await send("GET", "/order/main/length")).body.length, 0);
    assert.equal((await send("GET", "/note/main/length")).body.length, 1);
  }));

const SYSTEM_AGENTS = [
  "event_scheduler",
  "test_data_importer",
  "saga_coordinator",
  "saga_compensator",
];
for (const id of SYSTEM_AGENTS) {
  Deno.test(`identifiers: system_agent may be ${id}`, () =>
    withWorld(async ({ send }) => {
      const body = noteBody("a", { actor: { type: "system_agent", id } });
      assert.equal((await send("POST", "/note/main/was_written", { body })).status, 201);
    }));
}

for (const id of ["global", "main", uuid(1), "ABCDEFGHJ", "event_scheduler ", ""]) {
  Deno.test(`identifiers: system_agent may not be ${JSON.stringify(id)}: 422`, () =>
    withWorld(async ({ send }) => {
      const body = noteBody("a", { actor: { type: "system_agent", id } });
      const answer = await send("POST", "/note/main/was_written", { body });
      assert.equal(answer.status, 422);
      assert.equal(answer.body.path, "metadata.actor.id");
    }));
}

Deno.test("identifiers: other actor types with the prefix system are refused", () =>
  withWorld(async ({ send }) => {
    for (const type of ["system", "system_operator", "systemic"]) {
      const body = noteBody("a", { actor: { type, id: "event_scheduler" } });
      const answer = await send("POST", "/note/main/was_written", { body });
      assert.equal(answer.status, 422);
      assert.equal(answer.body.path, "metadata.actor.type");
    }
  }));

Deno.test("identifiers: system_agent is no target type", () =>
  withWorld(async ({ send }) => {
    const body = noteBody("a", { target: { type: "system_agent", id: "event_scheduler" } });
    const answer = await send("POST", "/note/main/was_written", { body });
    assert.equal(answer.body.path, "metadata.target.type");
  }));
