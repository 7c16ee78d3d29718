/** What the `start` task lets the server touch, by its settings, and that a shell gets the same. */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import {
  ASKED,
  type Asked,
  startPermission,
  type Surroundings,
  surroundings,
} from "../../scripts/start_permissions.ts";
import { startServer } from "../support/server_process.ts";

function allowed(asked: Asked, env: Record<string, string>, change: Partial<Surroundings> = {}) {
  const around = {
    env,
    root: "/app",
    deno: "/bin/deno",
    isMac: false,
    realPath: (path: string) => path,
  };
  return startPermission(asked, { ...around, ...change });
}

Deno.test("the embedded store: its folder and the sources are read, its folder is written", () => {
  assert.equal(
    allowed("read", {}),
    "--allow-read=/app/src,/app/dist/console,/app/dist/docs,/app/data",
  );
  assert.equal(allowed("write", {}), "--allow-write=/app/data");
  const elsewhere = { DAYBOOK_DATA_DIR: "/var/lib/daybook" };
  assert.equal(
    allowed("read", elsewhere),
    "--allow-read=/app/src,/app/dist/console,/app/dist/docs,/var/lib/daybook",
  );
  assert.equal(allowed("write", elsewhere), "--allow-write=/var/lib/daybook");
});

Deno.test("an empty setting is none, as for the server itself", () => {
  const empty = { DAYBOOK_DATA_DIR: "", DAYBOOK_TLS_CERT: "", DAYBOOK_STORE: "" };
  assert.equal(
    allowed("read", empty),
    "--allow-read=/app/src,/app/dist/console,/app/dist/docs,/app/data",
  );
});

Deno.test("certificate and key are read, and nothing beside them", () => {
  const tls = { DAYBOOK_TLS_CERT: "/etc/tls/cert.pem", DAYBOOK_TLS_KEY: "key.pem" };
  const expected =
    "--allow-read=/app/src,/app/dist/console,/app/dist/docs,/app/data,/etc/tls/cert.pem,/app/key.pem";
  assert.equal(allowed("read", tls), expected);
});

Deno.test("native code runs with FoundationDB alone, and only that of packages", () => {
  assert.equal(allowed("ffi", {}), "--deny-ffi");
  assert.equal(allowed("ffi", { DAYBOOK_STORE: "sqlite" }), "--deny-ffi");
  const cluster = { DAYBOOK_STORE: "foundationdb", HOME: "/home/ada" };
  assert.equal(allowed("ffi", cluster), "--allow-ffi=/home/ada/.cache/deno/npm");
  const image = { DAYBOOK_STORE: "foundationdb", DENO_DIR: "/deno-dir" };
  assert.equal(allowed("ffi", image), "--allow-ffi=/deno-dir/npm");
  const mac = allowed("ffi", cluster, { isMac: true });
  assert.equal(mac, "--allow-ffi=/home/ada/Library/Caches/deno/npm");
});

Deno.test("the cluster file that is set is read, else those that FoundationDB's tools look for", () => {
  const cluster = { DAYBOOK_STORE: "foundationdb", DENO_DIR: "/deno-dir" };
  const set = allowed("read", { ...cluster, FDB_CLUSTER_FILE: "./fdb/fdb.cluster" });
  assert.match(set, /,\/app\/fdb\/fdb\.cluster,/);
  assert.ok(!set.includes("/etc/foundationdb"));
  assert.match(allowed("read", cluster), /,\/app\/fdb\.cluster,\/etc\/foundationdb\/fdb\.cluster,/);
});

Deno.test("programs: this runtime, and the one that limits memory", () => {
  assert.equal(allowed("run", {}), "--allow-run=/bin/deno,/usr/bin/prlimit");
});

Deno.test("where a path leads may be touched too; of what does not exist, where its folder leads", () => {
  const links: Record<string, string> = { "/app/src": "/real/src", "/link": "/disk", "/": "/" };
  const realPath = (path: string) => links[path];
  const linked = allowed("write", { DAYBOOK_DATA_DIR: "/link/new/data" }, { realPath });
  assert.equal(linked, "--allow-write=/link/new/data,/disk/new/data");
});

Deno.test("a path with a comma is refused: the part behind it would be allowed too", () => {
  const message = /The path \/data,\/etc has a comma/;
  assert.throws(() => allowed("write", { DAYBOOK_DATA_DIR: "/data,/etc" }), { message });
});

Deno.test("the shell of the task gives the server these options, each as one word", async () => {
  const config = JSON.parse(await Deno.readTextFile("deno.json"));
  const task: string = config.tasks.start.command;
  assert.match(task, /^(?:DENO_TOKIO_\w+=\d+ )+deno run --frozen --no-prompt /);
  assert.match(task, / main\.ts serve$/);
  const asking = task.match(/"\$\([^)]*\)"/g)!;
  const env = { DAYBOOK_DATA_DIR: "/tmp/a folder/data", DAYBOOK_STORE: "sqlite" };
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `printf '%s\\n' ${asking.join(" ")}`],
    env: { ...env, PATH: `${dirname(Deno.execPath())}:${Deno.env.get("PATH")}` },
  }).output();
  const lines = new TextDecoder().decode(stdout).trimEnd().split("\n");
  assert.deepEqual(lines, ASKED.map((asked) => startPermission(asked, surroundings(env))));
});

Deno.test("whoever asks for the right to write gets a data folder, for its owner alone", async () => {
  const above = await Deno.makeTempDir({ prefix: "daybook_permissions_" });
  try {
    const folder = `${above}/new/data`;
    const command = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "-q",
        "--no-config",
        "--no-lock",
        "scripts/start_permissions.ts",
        "write",
      ],
      cwd: new URL("../../", import.meta.url),
      env: { DAYBOOK_DATA_DIR: folder },
    });
    const { code, stdout } = await command.output();
    assert.equal(code, 0);
    assert.equal(new TextDecoder().decode(stdout), `--allow-write=${folder}`);
    assert.equal((await Deno.stat(folder)).mode! & 0o777, 0o700);
  } finally {
    await Deno.remove(above, { recursive: true });
  }
});

Deno.test("a server whose data folder is a link with a blank in it starts and stops", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook a link " });
  await Deno.mkdir(`${folder}/real`);
  await Deno.symlink(`${folder}/real`, `${folder}/link`);
  const server = await startServer({ dataDir: `${folder}/link/data` });
  try {
    assert.equal(await server.stop(), 0);
  } finally {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  }
});
