/** Settings from the environment: defaults, checks, and helpful messages. */

import { deepEqual, equal, match } from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { type Config, parseConfig, readConfig, SETTING_NAMES } from "../src/config.ts";

type Env = Record<string, string>;

function config(env: Env = {}): Config {
  const parsed = parseConfig(env);
  if (!parsed.ok) throw new Error(parsed.problems.join("\n"));
  return parsed.config;
}

function problems(env: Env): readonly string[] {
  const parsed = parseConfig(env);
  return parsed.ok ? [] : parsed.problems;
}

Deno.test("parseConfig() has the documented default for everything", () => {
  deepEqual(config(), {
    store: "sqlite",
    dataDir: "./data",
    fdbClusterFile: undefined,
    host: "127.0.0.1",
    port: 8000,
    baseDomain: undefined,
    tls: undefined,
    jwtSecret: undefined,
    jwtPublicKey: undefined,
    roles: { api: true, worker: true },
    anchorIntervalSeconds: 3600,
    ipLimitPerMinute: 30000,
    trustedProxies: [],
    corsOrigins: [],
    allowPrivateWebhooks: false,
    headerPrefix: "SVC",
    wasmStackKilobytes: 64,
    runtimeFolder: undefined,
    tracing: false,
    bootstrap: true,
    devKeys: false,
    archive: undefined,
  });
});

Deno.test("parseConfig() reads every variable", () => {
  const secret = "x".repeat(32);
  const key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  const read = config({
    DAYBOOK_STORE: "foundationdb",
    DAYBOOK_DATA_DIR: "/var/lib/daybook",
    FDB_CLUSTER_FILE: "/etc/fdb.cluster",
    DAYBOOK_HOST: "::",
    DAYBOOK_PORT: "443",
    DAYBOOK_BASE_DOMAIN: "Events.Example.com",
    DAYBOOK_TLS_CERT: "/c.pem",
    DAYBOOK_TLS_KEY: "/k.pem",
    DAYBOOK_JWT_SECRET: secret,
    DAYBOOK_JWT_PUBLIC_KEY: key,
    DAYBOOK_ROLES: "worker",
    DAYBOOK_ANCHOR_INTERVAL_S: "60",
    DAYBOOK_IP_LIMIT: "100",
    DAYBOOK_TRUSTED_PROXIES: "10.0.0.0/8, 192.168.1.7,fd00::/8",
    DAYBOOK_CORS_ORIGINS: "https://app.example.com, http://localhost:5173",
    DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "true",
    DAYBOOK_HEADER_PREFIX: "Daybook",
    DAYBOOK_WASM_STACK_KB: "128",
    DENO_DIR: "/deno-dir",
    OTEL_DENO: "1",
    DAYBOOK_BOOTSTRAP: "false",
    DAYBOOK_DEV_KEYS: "0",
  });
  deepEqual(read, {
    store: "foundationdb",
    dataDir: "/var/lib/daybook",
    fdbClusterFile: "/etc/fdb.cluster",
    host: "::",
    port: 443,
    baseDomain: "events.example.com",
    tls: { certPath: "/c.pem", keyPath: "/k.pem" },
    jwtSecret: new TextEncoder().encode(secret),
    jwtPublicKey: Uint8Array.fromHex(key),
    roles: { api: false, worker: true },
    anchorIntervalSeconds: 60,
    ipLimitPerMinute: 100,
    trustedProxies: ["10.0.0.0/8", "192.168.1.7/32", "fd00::/8"],
    corsOrigins: ["https://app.example.com", "http://localhost:5173"],
    allowPrivateWebhooks: true,
    headerPrefix: "Daybook",
    wasmStackKilobytes: 128,
    runtimeFolder: "/deno-dir",
    tracing: true,
    bootstrap: false,
    devKeys: false,
    archive: undefined,
  });
});

Deno.test("parseConfig() takes an empty value for none, as compose files give it", () => {
  deepEqual(config({ DAYBOOK_PORT: "", DAYBOOK_TLS_CERT: " ", DAYBOOK_JWT_SECRET: "" }), config());
});

Deno.test("parseConfig() takes no notice of variables that are not ours", () => {
  deepEqual(config({ HOME: "/root", OTEL_SERVICE_NAME: "x", PATH: "" }), config());
});

Deno.test("parseConfig() reads the settings of the archive, which is of an embedded store", () => {
  const folder = { DAYBOOK_ARCHIVE_DIR: "/mnt/archive" };
  deepEqual(config(folder).archive, { folder: "/mnt/archive", fullHours: 24, keepDays: 7 });
  const other = { DAYBOOK_ARCHIVE_FULL_HOURS: "6", DAYBOOK_ARCHIVE_KEEP_DAYS: "30" };
  deepEqual(config({ ...folder, ...other }).archive, {
    folder: "/mnt/archive",
    fullHours: 6,
    keepDays: 30,
  });
  const [problem] = problems({ ...folder, DAYBOOK_STORE: "foundationdb" });
  match(problem!, /^DAYBOOK_ARCHIVE_DIR: the archive is of the embedded store/);
});

const BAD: Record<string, readonly string[]> = {
  DAYBOOK_ARCHIVE_FULL_HOURS: ["0", "87841", "a day"],
  DAYBOOK_ARCHIVE_KEEP_DAYS: ["0", "3661", "-1"],
  DAYBOOK_ARCHIVE_DIR: ["a\0b"],
  DAYBOOK_STORE: ["postgres", "SQLITE"],
  DAYBOOK_DATA_DIR: ["a\0b"],
  DAYBOOK_HOST: ["300.1.1.1", "127.1", "a b", "http://x", "localhost:80"],
  DAYBOOK_PORT: ["-1", "65534", "80.5", "0x50", "http", "1e3"],
  DAYBOOK_BASE_DOMAIN: ["https://x.com", "a..b", "10.0.0.1", "x.com:80", "-a.com"],
  DAYBOOK_JWT_SECRET: ["x".repeat(31)],
  DAYBOOK_JWT_PUBLIC_KEY: [
    "ff",
    "g".repeat(64),
    // Points of small order: anybody can sign for them.
    "C7176A703D4DD84FBA3C0B760D10670F2A2053FA2C39CCC64EC7FD7792AC03FA",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "-----BEGIN PUBLIC KEY-----AAAA-----END PUBLIC KEY-----",
  ],
  OTEL_DENO: ["yes"],
  DAYBOOK_ROLES: ["api,cron", ",", "API"],
  DAYBOOK_ANCHOR_INTERVAL_S: ["0", "1h", "99999999999"],
  DAYBOOK_IP_LIMIT: ["0", "-5", "2147483648"],
  DAYBOOK_WASM_STACK_KB: ["47", "513", "64.5", "64k"],
  DAYBOOK_TRUSTED_PROXIES: [
    "10.0.0.0/33",
    "10.0.0.0/8;1.1.1.1",
    "loopback",
    "::/129",
    "1.2.3.4/8/8",
  ],
  DAYBOOK_CORS_ORIGINS: [
    "*",
    "app.example.com",
    "https://app.example.com/",
    "https://App.example.com",
    "https://app.example.com:443",
    "ftp://app.example.com",
    "null",
  ],
  DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: ["yes", "TRUE"],
  DAYBOOK_HEADER_PREFIX: ["X-", "-X", "a b", "x".repeat(41), "1X", "X:Y"],
  DAYBOOK_BOOTSTRAP: ["no"],
  DAYBOOK_DEV_KEYS: ["yes"],
};

for (const [name, values] of Object.entries(BAD)) {
  Deno.test(`parseConfig() refuses bad values of ${name}, naming it and giving an example`, () => {
    for (const value of values) {
      const found = problems({ [name]: value });
      equal(found.length, 1, JSON.stringify(value));
      match(found[0]!, new RegExp(`^${name}: .* is not .*\\. Example: ${name}=.`));
    }
  });
}

Deno.test("parseConfig() tells all problems at once", () => {
  const found = problems({ DAYBOOK_PORT: "x", DAYBOOK_STORE: "y", DAYBOOK_HSOT: "z" });
  deepEqual(found.map((problem) => problem.split(":")[0]).sort(), [
    "DAYBOOK_HSOT",
    "DAYBOOK_PORT",
    "DAYBOOK_STORE",
  ]);
});

Deno.test("parseConfig() never repeats a secret", () => {
  equal(problems({ DAYBOOK_JWT_SECRET: "hunter2" })[0]!.includes("hunter2"), false);
});

Deno.test("parseConfig() reports an unknown DAYBOOK_ variable with the nearest known one", () => {
  match(
    problems({ DAYBOOK_DATADIR: "/x" })[0]!,
    /^DAYBOOK_DATADIR: .*did you mean DAYBOOK_DATA_DIR\?/,
  );
  match(problems({ DAYBOOK_PROT: "1" })[0]!, /did you mean DAYBOOK_PORT\?/);
  match(problems({ DAYBOOK_COLOUR_OF_THE_SKY: "1" })[0]!, /known are .*DAYBOOK_PORT/);
});

Deno.test("parseConfig() wants the TLS certificate and its key together", () => {
  match(
    problems({ DAYBOOK_TLS_CERT: "/c.pem" })[0]!,
    /^DAYBOOK_TLS_KEY: missing, but DAYBOOK_TLS_CERT/,
  );
  match(
    problems({ DAYBOOK_TLS_KEY: "/k.pem" })[0]!,
    /^DAYBOOK_TLS_CERT: missing, but DAYBOOK_TLS_KEY/,
  );
});

Deno.test("parseConfig() leaves room for two more ports unless there is a base domain", () => {
  equal(config({ DAYBOOK_PORT: "65533" }).port, 65533);
  equal(problems({ DAYBOOK_PORT: "65534" }).length, 1);
  equal(config({ DAYBOOK_PORT: "65535", DAYBOOK_BASE_DOMAIN: "localhost" }).port, 65535);
});

Deno.test("parseConfig() takes known keys only where nobody else can come", () => {
  const on = { DAYBOOK_DEV_KEYS: "true" };
  const quiet: readonly Env[] = [
    {},
    { DAYBOOK_HOST: "::1" },
    { DAYBOOK_BASE_DOMAIN: "localhost" },
  ];
  for (const more of quiet) {
    equal(config({ ...on, ...more }).devKeys, true);
  }
  const exposed: readonly Env[] = [
    { DAYBOOK_HOST: "0.0.0.0" },
    { DAYBOOK_HOST: "192.168.1.7" },
    { DAYBOOK_BASE_DOMAIN: "daybook.example.com" },
    { DAYBOOK_TLS_CERT: "/c", DAYBOOK_TLS_KEY: "/k" },
    { DAYBOOK_TRUSTED_PROXIES: "127.0.0.1" },
    { DAYBOOK_STORE: "foundationdb" },
    { DAYBOOK_BOOTSTRAP: "false" },
  ];
  for (const more of exposed) {
    const found = problems({ ...on, ...more });
    equal(found.length, 1, JSON.stringify(more));
    match(
      found[0]!,
      /^DAYBOOK_DEV_KEYS: keys that everybody knows are for development alone, but /,
    );
    deepEqual(problems(more), []);
  }
});

Deno.test("docs/operate/settings.md has every variable, and no other", async () => {
  const page = await Deno.readTextFile(new URL("../docs/operate/settings.md", import.meta.url));
  const cells = page.split("\n").filter((line) => line.startsWith("| `"));
  const named = cells.flatMap((line) => line.split("|")[1]!.match(/`([A-Z_]+)`/g) ?? []);
  const names = named.map((name) => name.slice(1, -1)).filter((name) => !name.startsWith("OTEL_S"));
  deepEqual(names.toSorted(), SETTING_NAMES.toSorted());
});

Deno.test("parseConfig() counts the secret's bytes, not its characters", () => {
  equal(config({ DAYBOOK_JWT_SECRET: "é".repeat(16) }).jwtSecret?.length, 32);
});

Deno.test("parseConfig() takes the public key as PEM, with real or written line ends", () => {
  const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const pem = String(key.export({ type: "spki", format: "pem" }));
  const hex = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
  for (const text of [pem, pem.replaceAll("\n", "\\n"), hex.toUpperCase()]) {
    equal(config({ DAYBOOK_JWT_PUBLIC_KEY: text }).jwtPublicKey?.toHex(), hex);
  }
});

Deno.test("readConfig() reads the environment of this process", () => {
  const before = Deno.env.get("DAYBOOK_IP_LIMIT");
  Deno.env.set("DAYBOOK_IP_LIMIT", "77");
  try {
    const parsed = readConfig();
    equal(parsed.ok && parsed.config.ipLimitPerMinute, 77);
  } finally {
    if (before === undefined) Deno.env.delete("DAYBOOK_IP_LIMIT");
    else Deno.env.set("DAYBOOK_IP_LIMIT", before);
  }
});
