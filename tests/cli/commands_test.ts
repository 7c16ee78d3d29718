/** The command line as a person uses it: real processes, exit codes, and what is printed. */

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { reservePorts } from "../support/reserve_ports.ts";
import { startServer } from "../support/server_process.ts";

const ROOT = new URL("../../", import.meta.url);

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(args: string[], env: Record<string, string> = {}, input = ""): Promise<Ran> {
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "main.ts", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  });
  const child = command.spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, stdout: text(stdout), stderr: text(stderr) };
}

async function withFolder(body: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_cli_" });
  try {
    await body(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

Deno.test("every command explains itself with --help", async () => {
  for (const args of [["--help"], ["serve", "--help"], ["token", "--help"], ["user", "--help"]]) {
    const { code, stdout } = await run(args);
    assert.equal(code, 0);
    assert.match(stdout, /Usage: daybook/);
  }
});

Deno.test("an unknown command is refused with a pointer to the help", async () => {
  const { code, stderr } = await run(["sevre"]);
  assert.notEqual(code, 0);
  assert.match(stderr, /serve|--help/);
});

Deno.test("bad settings are all named at once, and the exit code is 2", async () => {
  const env = { DAYBOOK_PORT: "eighty", DAYBOOK_STROE: "sqlite" };
  const { code, stderr } = await run(["serve"], env);
  assert.equal(code, 2);
  assert.match(stderr, /DAYBOOK_PORT: 'eighty' is not/);
  assert.match(stderr, /DAYBOOK_STROE: .*did you mean DAYBOOK_STORE/);
});

Deno.test("token prints an HS256 operator token signed with the secret that is set", async () => {
  await withFolder(async (dataDir) => {
    const secret = "0123456789abcdef0123456789abcdef";
    const env = { DAYBOOK_DATA_DIR: dataDir, DAYBOOK_JWT_SECRET: secret };
    const { code, stdout } = await run(["token", "--subject", "ada", "--hours", "1"], env);
    assert.equal(code, 0);
    const [header, claims, signature] = stdout.trim().split(".") as [string, string, string];
    const expected = createHmac("sha256", secret).update(`${header}.${claims}`).digest("base64url");
    assert.equal(signature, expected);
    const decoded = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/")));
    assert.deepEqual([decoded.sub, decoded.role], ["ada", "operator"]);
    assert.equal(decoded.exp - decoded.iat, 3600);
  });
});

Deno.test("token refuses a life of more than 24 hours with exit code 2", async () => {
  await withFolder(async (dataDir) => {
    for (const hours of ["25", "0", "-1", "x"]) {
      const { code, stderr } = await run(["token", "--hours", hours], {
        DAYBOOK_DATA_DIR: dataDir,
      });
      assert.equal(code, 2);
      assert.match(stderr, /--hours/);
    }
  });
});

Deno.test("serve says who has the store when two servers want the same folder", async () => {
  const server = await startServer();
  try {
    const env = { DAYBOOK_DATA_DIR: server.dataDir, DAYBOOK_PORT: "18000" };
    const { code, stderr } = await run(["serve"], env);
    assert.equal(code, 1);
    assert.match(stderr, /cannot start/);
    assert.ok(stderr.includes(server.dataDir), stderr);
  } finally {
    await server.remove();
  }
});

Deno.test("user add works beside a running server and without one, and the account logs in", async () => {
  const server = await startServer();
  try {
    const port = new URL(server.baseUrls.production).port;
    const env = { DAYBOOK_DATA_DIR: server.dataDir, DAYBOOK_PORT: port };
    const password = "correct horse battery";
    const beside = await run(["user", "add", "a@example.com", "--password-stdin"], env, password);
    assert.equal(beside.code, 0, beside.stderr);
    const again = await run(["user", "add", "a@example.com", "--password-stdin"], env, password);
    assert.equal(again.code, 1);
    assert.match(again.stderr, /exists already/);
    const reply = await fetch(`${server.baseUrls.test}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email: "A@example.com", password }),
    });
    assert.equal(reply.status, 200);
    assert.equal((await reply.json()).ok, true);
    assert.equal(await server.stop(), 0);
    const alone = await run(["user", "add", "b@example.com", "--password-stdin"], env, password);
    assert.equal(alone.code, 0, alone.stderr);
    const short = await run(["user", "add", "c@example.com", "--password-stdin"], env, "short");
    assert.equal(short.code, 1);
    assert.match(short.stderr, /password/i);
  } finally {
    await server.remove();
  }
});

Deno.test("a start that finds a port taken leaves nothing behind, and names the port", async () => {
  const ports = reservePorts();
  const staging = ports.first + 1;
  const taken = Deno.listen({ hostname: "127.0.0.1", port: staging });
  try {
    await withFolder(async (dataDir) => {
      const env = { DAYBOOK_DATA_DIR: `${dataDir}/data`, DAYBOOK_PORT: String(ports.first) };
      const { code, stderr } = await run(["serve"], env);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${staging} is in use by another program`));
      assert.deepEqual([...Deno.readDirSync(dataDir)], []);
    });
  } finally {
    taken.close();
    ports.release();
  }
});

Deno.test("a second start tells where the keys of the first one are", async () => {
  const server = await startServer();
  const { dataDir } = server;
  try {
    const path = `${dataDir}/credentials.json`;
    const told = (each: typeof server) => each.output().includes(path);
    assert.match(server.output(), /^First start: API keys and an operator token are in /m);
    assert.ok(told(server));
    assert.equal(await server.stop(), 0);
    const again = await startServer({ dataDir });
    assert.match(again.output(), /^ {2}keys +\S+credentials\.json; .*`main\.ts token`/m);
    assert.equal(await again.stop(), 0);
    await Deno.remove(path);
    const without = await startServer({ dataDir });
    assert.ok(!told(without), "a file that is not there any more");
    assert.equal(await without.stop(), 0);
  } finally {
    await server.remove();
  }
});

Deno.test("a server on all addresses names one that can be opened", async () => {
  const server = await startServer({ env: { DAYBOOK_HOST: "0.0.0.0" } });
  try {
    const [, url] = /^ {2}test +(\S+) \(listening on all addresses\)$/m.exec(server.output()) ?? [];
    const response = await fetch(`${url}/health/ready`);
    assert.deepEqual(await response.json(), { ok: true });
    assert.equal(await server.stop(), 0);
  } finally {
    await server.remove();
  }
});

Deno.test("serve stops on SIGTERM with exit code 0, and starts again on what it kept", async () => {
  const server = await startServer();
  const { dataDir } = server;
  try {
    const credentials = await Deno.readTextFile(`${dataDir}/credentials.json`);
    assert.equal(await server.stop(), 0);
    const again = await startServer({ dataDir });
    assert.equal(await Deno.readTextFile(`${dataDir}/credentials.json`), credentials);
    assert.equal(await again.stop(), 0);
  } finally {
    await server.remove();
  }
});
