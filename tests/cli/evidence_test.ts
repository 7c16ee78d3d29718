/**
 * Audit evidence from its source to its holder. A real server signs and serves it, both
 * verifiers judge it offline, and `fsck` judges the store that it came from.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";

const ROOT = new URL("../../", import.meta.url);
const VERIFIERS = [
  ["run", "-A", "main.ts", "verify"],
  ["run", "--no-prompt", "--allow-read", "scripts/verify_bundle.ts"],
];
const EVENTS = 300;
const METADATA = { actor: { type: "user", id: "global" } };

async function runDeno(args: readonly string[], dataDir = "/nonexistent") {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", DAYBOOK_DATA_DIR: dataDir },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Both verifiers must give this exit code and print these words. */
async function judge(path: string, options: readonly string[], code: number, words: RegExp) {
  for (const verifier of VERIFIERS) {
    const ran = await runDeno([...verifier, path, ...options]);
    assert.equal(ran.code, code, `${verifier.at(-1)}: ${ran.stdout}${ran.stderr}`);
    assert.match(ran.stdout + ran.stderr, words);
  }
}

async function ask(server: ServerProcess, token: string, path: string, body?: unknown) {
  const reply = await fetch(`${server.baseUrls.production}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await reply.text();
  assert.ok(reply.ok, `${path}: ${reply.status} ${text}`);
  return text;
}

/** Writes a long stream and short ones around it, makes an anchor, and keeps what is served. */
async function keepEvidence(server: ServerProcess, folder: string) {
  const { operator_token: operator, instance_id, keys } = server.credentials;
  const writer = keys.production.write;
  await ask(server, operator, `/api/instances/${instance_id}/spec`, { spec: exampleSpec });
  for (let number = 1; number <= 9; number++) {
    const count = number === 5 ? EVENTS : number;
    const data = { text: "naïve ✓ \u2028" };
    const events = Array.from({ length: count }, () => ({ type: "was_noted", data }));
    await ask(server, writer, `/order/${uuid(number)}`, { events, metadata: METADATA });
  }
  await ask(server, operator, "/_admin/anchors", { environment: "production" });
  // Written after the anchor: bundles of older events stay as they are.
  const after = { data: { text: "later" }, metadata: METADATA };
  await ask(server, writer, `/order/${uuid(5)}/was_noted`, after);
  for (const index of [0, 255, EVENTS - 1]) {
    const path = `/order/${uuid(5)}/audit/attestation/${index}`;
    await Deno.writeTextFile(join(folder, `${index}.json`), await ask(server, writer, path));
  }
  const page = await ask(server, writer, `/order/${uuid(5)}/events?raw=true&count=200`);
  await Deno.writeTextFile(join(folder, "page.json"), page);
  return JSON.parse(await ask(server, writer, "/_audit/signing-key")).public_key as string;
}

/** Flips a bit in a value as a disk would: nothing else in the row changes. */
function flipRow(dataDir: string, content: string) {
  const db = new DatabaseSync(join(dataDir, "daybook.sqlite"));
  const find = "SELECT rowid AS row, v FROM kv WHERE instr(v, CAST(? AS BLOB)) > 0";
  const { row, v } = db.prepare(find).get(content) as { row: number; v: Uint8Array };
  const at = v.length - 1 - 3;
  v[at]! ^= 1;
  db.prepare("UPDATE kv SET v = ? WHERE rowid = ?").run(v, row);
  db.close();
}

/** From the first test vector of RFC 8032: not the key of any server. */
const OTHER_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

Deno.test("evidence that a server gives out verifies offline, and fsck agrees with its store", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_evidence_" });
  const dataDir = join(folder, "data");
  const server = await startServer({ dataDir });
  try {
    const key = await keepEvidence(server, folder);
    assert.equal(await server.stop(), 0);
    for (const index of [0, 255, EVENTS - 1]) {
      const path = join(folder, `${index}.json`);
      const options = ["--key", key, "--stream", `order:${uuid(5)}`, "--index", String(index)];
      await judge(path, options, 0, /steps? holds?/);
    }
    const first = join(folder, "0.json");
    await judge(first, ["--key", OTHER_KEY], 1, /NOT VALID/);
    const forged = (await Deno.readTextFile(first)).replace("naïve", "naive");
    await Deno.writeTextFile(first, forged);
    await judge(first, ["--key", key], 1, /NOT VALID/);

    await judge(join(folder, "page.json"), [], 0, /200 events/);
    const file = join(folder, "environment.jsonl");
    const exported = await runDeno(["run", "-A", "main.ts", "export", "--out", file], dataDir);
    assert.equal(exported.code, 0, exported.stderr);
    await judge(file, [], 0, /VALID/);

    const fsck = ["run", "-A", "main.ts", "fsck", "--all"];
    const sound = await runDeno(fsck, dataDir);
    assert.equal(sound.code, 0, sound.stderr);
    assert.match(sound.stdout, /No fault in 3 environments, 9 streams, 341 events, \d+ anchors/);
    // The record of an API key: nothing else in the store repeats its content.
    flipRow(dataDir, '"scope"');
    const broken = await runDeno(fsck, dataDir);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /row \d+ is not what was written/);
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});
