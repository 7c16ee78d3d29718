/** Profiles as they are made, used and kept: nobody else reads them, no other server gets them. */

import assert from "node:assert/strict";
import { parseProfiles } from "../../src/cli/connection/profiles_file.ts";
import { siblingUrl } from "../../src/cli/connection/find_server.ts";
import { runCli } from "../support/run_cli.ts";
import { startServer } from "../support/server_process.ts";

const PASSWORD = "correct horse battery";

Deno.test("a login is kept for its owner alone, used without options, and removed by logout", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_profiles_" });
  const server = await startServer();
  const env = { DAYBOOK_DATA_DIR: `${folder}/none`, XDG_CONFIG_HOME: folder };
  const run = (args: string[], input = "", more = {}) =>
    runCli(args, { env: { ...env, ...more }, input });
  try {
    const port = new URL(server.baseUrls.production).port;
    const own = { DAYBOOK_DATA_DIR: server.dataDir, DAYBOOK_PORT: port };
    const added = await run(["user", "add", "a@example.com", "--password-stdin"], PASSWORD, own);
    assert.equal(added.code, 0, added.stderr);
    const url = server.baseUrls.production;
    const account = ["--url", url, "--email", "a@example.com", "--password-stdin"];
    const wrong = await run(["login", ...account], "wrong horse battery");
    assert.deepEqual([wrong.code, wrong.stdout], [1, ""]);
    const login = await run(["login", ...account], PASSWORD);
    assert.equal(login.code, 0, login.stderr);
    const placeOf = async (...more: string[]) =>
      JSON.parse((await run(["keys", "list", "--json", ...more])).stdout).environment;
    assert.equal(await placeOf(), "test", "nobody gets to production without naming it");
    assert.equal(await placeOf("--url", url), "production");
    assert.equal((await run(["login", ...account, "--env", "test"], PASSWORD)).code, 0);
    const path = `${folder}/daybook/profiles.json`;
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.equal((await Deno.stat(`${folder}/daybook`)).mode! & 0o777, 0o700);

    // Without a key, the token reads.
    const read = ["events", "tail", "--from", "start", "--no-follow"];
    assert.deepEqual(await run(read), { code: 0, stdout: "", stderr: "" });
    const written = await run(["write", "order:global", "was_placed", "--actor", "user:global"]);
    assert.match(written.stderr, /There is no API key.*\n.*daybook keys issue/);

    // The address of production was given; the keys of test are at another port.
    const issued = await run(["keys", "issue", "mine", "--save"]);
    assert.equal(issued.code, 0, issued.stderr);
    assert.ok(!issued.stdout.includes("dbk_"), "a saved key is not printed");
    assert.equal((await run(read)).code, 0);
    const listed = await run(["profiles"]);
    assert.match(listed.stdout, /^\* {2}default {2}http:\S+ {2}test +\S+Z {2}test$/m);
    const { token, keys } = JSON.parse(await Deno.readTextFile(path)).profiles.default;
    assert.ok(!listed.stdout.includes(token) && !listed.stdout.includes(keys.test));

    await Deno.chmod(path, 0o644);
    const logout = await run(["logout"]);
    assert.equal(logout.code, 0);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    const left = await Deno.readTextFile(path);
    assert.ok(!left.includes(token) && !left.includes("dbk_") && left.includes(url));
    assert.match(
      (await run(["keys", "list"])).stderr,
      /needs an operator token.*\n.*daybook login/,
    );

    const { write } = server.credentials.keys.test;
    const test = server.baseUrls.test;
    const shop = ["login", "--profile", "shop", "--url", test, "--key-stdin"];
    assert.match(
      (await run(shop, "dbk_0_test_wrongwrongwrongwrongwrong")).stderr,
      /Invalid API key/,
    );
    assert.equal((await run(shop, `${write}\n`)).code, 0);
    assert.equal((await run(read)).code, 0);
    assert.equal((await run(["profiles", "use", "default"])).code, 0);
    assert.equal((await run([...read, "--profile", "shop"])).code, 0);
    assert.match((await run(["profiles", "remove", "shpo"])).stderr, /Did you mean "shop"\?/);
    assert.equal((await run(["profiles", "remove", "shop"])).code, 0);
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("credentials of a profile or of this machine are not sent to another address", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_profiles_" });
  const seen: (string | null)[] = [];
  await using stranger = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (r) => {
    seen.push(r.headers.get("authorization"));
    return Response.json({ ok: true, environment: "test", data: [] });
  });
  try {
    await Deno.mkdir(`${folder}/daybook`);
    const profile = { url: "http://127.0.0.1:9", token: "secret", keys: { test: "secret" } };
    const profiles = { current: "mine", profiles: { mine: profile } };
    await Deno.writeTextFile(`${folder}/daybook/profiles.json`, JSON.stringify(profiles));
    await Deno.writeTextFile(
      `${folder}/credentials.json`,
      JSON.stringify({
        instance_id: "7373ccb7-710a-4227-be5b-e42403912001",
        slug: "default",
        base_urls: { production: profile.url, staging: profile.url, test: profile.url },
        keys: { production: {}, staging: {}, test: { write: "secret" } },
        operator_token: "secret",
      }),
    );
    const env = { DAYBOOK_DATA_DIR: folder, XDG_CONFIG_HOME: folder };
    const url = `http://127.0.0.1:${stranger.addr.port}`;
    for (const args of [["state", "order:global"], ["keys", "list"], ["deploy", "deno.json"]]) {
      for (const more of [[], ["--profile", "mine"]]) {
        const ran = await runCli([...args, "--url", url, ...more], { env });
        assert.equal(ran.code, 1, ran.stdout + ran.stderr);
      }
    }
    assert.ok(seen.length > 0);
    assert.deepEqual(seen.filter((each) => each !== null), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("parseProfiles() takes what login writes, and says what to do with anything else", () => {
  const good = { current: "a", profiles: { a: { url: "http://a.example", keys: { test: "k" } } } };
  assert.deepEqual(parseProfiles(JSON.stringify(good), "file"), good);
  const bad = ["", "{", "[]", "{}", '{"profiles": []}', '{"profiles": {"a": {}}}'];
  bad.push('{"profiles": {"a": {"url": "u", "keys": {"test": 1}}}}', '{"profiles":{},"current":1}');
  for (const text of bad) assert.throws(() => parseProfiles(text, "file"), /^Error: file is not/);
});

Deno.test("siblingUrl() finds the other environments by port or by host", () => {
  const cases = [
    ["http://127.0.0.1:8000", "production", "test", "http://127.0.0.1:8002"],
    ["http://127.0.0.1:8001", "staging", "production", "http://127.0.0.1:8000"],
    ["https://shop.example.com", "production", "staging", "https://shop-staging.example.com"],
    ["https://shop-test.example.com", "test", "production", "https://shop.example.com"],
    ["https://shop-test.example.com/", "test", "staging", "https://shop-staging.example.com"],
  ] as const;
  for (const [url, from, to, expected] of cases) assert.equal(siblingUrl(url, from, to), expected);
  assert.equal(siblingUrl("http://localhost", "production", "test"), undefined);
});
