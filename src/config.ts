/**
 * Settings: parses the environment variables into one validated Config. It is the only reader
 * of `Deno.env`. It reports all faults at once; each names the variable, what is wrong and an
 * example.
 */

import { findDevKeyFaults } from "./domain/access/dev_keys.ts";
import { isSmallOrder } from "./domain/audit/public_key.ts";
import ipaddr from "ipaddr.js";
import { isLoopback, type Listening } from "./addresses.ts";
import { limits } from "./domain/limits.ts";
import { nearestName } from "./domain/nearest_name.ts";
import { CAPABILITIES, STORE_NAMES, type StoreName } from "./kv/capabilities.ts";

export interface Config extends Listening {
  readonly store: StoreName;
  readonly dataDir: string;
  /** Undefined: FoundationDB uses its own default. */
  readonly fdbClusterFile?: string;
  /** At least 32 bytes. Undefined: a random secret is kept in the data folder. */
  readonly jwtSecret?: Uint8Array;
  /** A raw Ed25519 public key of 32 bytes. If set, EdDSA tokens are accepted too. */
  readonly jwtPublicKey?: Uint8Array;
  readonly roles: { readonly api: boolean; readonly worker: boolean };
  readonly anchorIntervalSeconds: number;
  /** Requests per minute for each client address. */
  readonly ipLimitPerMinute: number;
  /** Origins whose pages may use every method and header of the API. */
  readonly corsOrigins: readonly string[];
  readonly allowPrivateWebhooks: boolean;
  /** Replaces `SVC` in header names. */
  readonly headerPrefix: string;
  /** The stack of a WebAssembly module call, in KiB. */
  readonly wasmStackKilobytes: number;
  /** The runtime's package cache, if one is configured: `DENO_DIR`, read under its own name. */
  readonly runtimeFolder?: string;
  /** Whether the runtime traces: `OTEL_DENO`, read under its own name. */
  readonly tracing: boolean;
  /** Whether an empty store gets an instance and API keys at startup. */
  readonly bootstrap: boolean;
  /** Whether these keys are those for development, which everybody knows. */
  readonly devKeys: boolean;
  /** The archive of the embedded store; undefined: none is kept. */
  readonly archive?: ArchiveSettings;
}

export interface ArchiveSettings {
  readonly folder: string;
  /** A full backup is made each so many hours. */
  readonly fullHours: number;
  /** Any moment of so many days can be restored. */
  readonly keepDays: number;
}

export type ParsedConfig =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

export type Env = Readonly<Record<string, string | undefined>>;

/** Every variable we read, with an example of a good value. */
const EXAMPLES = {
  DAYBOOK_STORE: "sqlite",
  DAYBOOK_DATA_DIR: "./data",
  FDB_CLUSTER_FILE: "/etc/foundationdb/fdb.cluster",
  DAYBOOK_HOST: "127.0.0.1",
  DAYBOOK_PORT: "8000",
  DAYBOOK_BASE_DOMAIN: "daybook.example.com",
  DAYBOOK_TLS_CERT: "/etc/daybook/cert.pem",
  DAYBOOK_TLS_KEY: "/etc/daybook/key.pem",
  DAYBOOK_JWT_SECRET: "$(openssl rand -hex 32)",
  DAYBOOK_JWT_PUBLIC_KEY: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  DAYBOOK_ROLES: "api,worker",
  DAYBOOK_ANCHOR_INTERVAL_S: "3600",
  DAYBOOK_IP_LIMIT: "30000",
  DAYBOOK_TRUSTED_PROXIES: "10.0.0.0/8,192.168.1.7",
  DAYBOOK_CORS_ORIGINS: "https://app.example.com,http://localhost:5173",
  DAYBOOK_ALLOW_PRIVATE_WEBHOOKS: "false",
  DAYBOOK_HEADER_PREFIX: "SVC",
  DAYBOOK_WASM_STACK_KB: "64",
  DENO_DIR: "/deno-dir",
  OTEL_DENO: "true",
  DAYBOOK_BOOTSTRAP: "true",
  DAYBOOK_DEV_KEYS: "false",
  DAYBOOK_ARCHIVE_DIR: "/mnt/archive/daybook",
  DAYBOOK_ARCHIVE_FULL_HOURS: "24",
  DAYBOOK_ARCHIVE_KEEP_DAYS: "7",
} as const;
type Name = keyof typeof EXAMPLES;

/** What the commands that call a server read; a server ignores them. */
export const CLIENT_NAMES = [
  "DAYBOOK_URL",
  "DAYBOOK_KEY",
  "DAYBOOK_TOKEN",
  "DAYBOOK_PROFILE",
] as const;

/** The names of all variables that are read. */
export const SETTING_NAMES: readonly string[] = Object.keys(EXAMPLES);

/** Their values are never printed. */
const SECRET_NAMES: ReadonlySet<Name> = new Set<Name>(["DAYBOOK_JWT_SECRET"]);
const SECRET_BYTES_MIN = 32;
const PORT_MAX = 65_535;
const INTERVAL_SECONDS_MAX = 366 * 24 * 3600;
const ARCHIVE_DAYS_MAX = 3_660;
const HOURS_PER_DAY = 24;
const COUNT_MAX = 2_147_483_647;
const HOST_NAME =
  /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;
const HEADER_PREFIX = /^[A-Za-z](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?$/;
/** The leading bytes of an Ed25519 public key in DER form (RFC 8410, section 4), in hex. */
const ED25519_DER_START = "302a300506032b6570032100";

/** Reads the environment of this process. */
export function readConfig(): ParsedConfig {
  return parseConfig(readVariables());
}

/** The variables of this process. */
export function readVariables(): Env {
  return Deno.env.toObject();
}

/** An empty value counts as unset, as in compose files and unit files. */
export function parseConfig(env: Env): ParsedConfig {
  const problems = unknownNames(env);
  const read = reader(env, problems);
  const baseDomain = read("DAYBOOK_BASE_DOMAIN", undefined, "a host name", parseHostName);
  const portMax = baseDomain === undefined ? PORT_MAX - 2 : PORT_MAX;
  const config: Config = {
    store: read("DAYBOOK_STORE", "sqlite", STORE_NAMES.join(" or "), parseStore),
    dataDir: read("DAYBOOK_DATA_DIR", "./data", "a path", parsePath),
    fdbClusterFile: read("FDB_CLUSTER_FILE", undefined, "a path", parsePath),
    host: read("DAYBOOK_HOST", "127.0.0.1", "an IP address or a host name", parseHost),
    port: read("DAYBOOK_PORT", 8000, `a number from 1 to ${portMax}`, integer(1, portMax)),
    baseDomain,
    tls: readTls(env, problems),
    jwtSecret: read(
      "DAYBOOK_JWT_SECRET",
      undefined,
      `at least ${SECRET_BYTES_MIN} bytes long`,
      parseSecret,
    ),
    jwtPublicKey: read(
      "DAYBOOK_JWT_PUBLIC_KEY",
      undefined,
      "an Ed25519 public key, not of small order: 64 hex characters, or PEM text",
      parsePublicKey,
    ),
    roles: read(
      "DAYBOOK_ROLES",
      { api: true, worker: true },
      "a list of api and worker",
      parseRoles,
    ),
    anchorIntervalSeconds: read(
      "DAYBOOK_ANCHOR_INTERVAL_S",
      3600,
      `a number of seconds from 1 to ${INTERVAL_SECONDS_MAX}`,
      integer(1, INTERVAL_SECONDS_MAX),
    ),
    ...readCallers(read),
    allowPrivateWebhooks: read("DAYBOOK_ALLOW_PRIVATE_WEBHOOKS", false, "true or false", parseFlag),
    headerPrefix: read(
      "DAYBOOK_HEADER_PREFIX",
      "SVC",
      "1 to 40 letters, digits and '-' that begin with a letter",
      (text) => HEADER_PREFIX.test(text) ? text : undefined,
    ),
    wasmStackKilobytes: read(
      "DAYBOOK_WASM_STACK_KB",
      limits.wasmStackKilobytesDefault,
      `a number from ${limits.wasmStackKilobytesMin} to ${limits.wasmStackKilobytesMax}`,
      integer(limits.wasmStackKilobytesMin, limits.wasmStackKilobytesMax),
    ),
    runtimeFolder: read("DENO_DIR", undefined, "a folder", (text) => text),
    tracing: read("OTEL_DENO", false, "true or false", parseFlag),
    bootstrap: read("DAYBOOK_BOOTSTRAP", true, "true or false", parseFlag),
    devKeys: read("DAYBOOK_DEV_KEYS", false, "true or false", parseFlag),
    archive: readArchive(read),
  };
  const { isShared } = CAPABILITIES[config.store];
  const exposure = { ...config, isShared, isLoopback: isLoopback(config.host) };
  if (config.devKeys) problems.push(...findDevKeyFaults(exposure));
  if (config.archive !== undefined && isShared) {
    problems.push(
      "DAYBOOK_ARCHIVE_DIR: the archive is of the embedded store, and DAYBOOK_STORE " +
        `is ${config.store}. Leave it out`,
    );
  }
  return problems.length === 0 ? { ok: true, config } : { ok: false, problems };
}

/** The settings about callers: rate limit, trusted proxies, CORS origins. */
function readCallers(read: ReturnType<typeof reader>) {
  return {
    ipLimitPerMinute: read(
      "DAYBOOK_IP_LIMIT",
      limits.addressRequestsPerMinuteDefault,
      `a number from 1 to ${COUNT_MAX}`,
      integer(1, COUNT_MAX),
    ),
    trustedProxies: read(
      "DAYBOOK_TRUSTED_PROXIES",
      [],
      "a list of addresses and address ranges",
      parseRanges,
    ),
    corsOrigins: read(
      "DAYBOOK_CORS_ORIGINS",
      [],
      "a list of origins, each with scheme and host and without a path",
      parseOrigins,
    ),
  };
}

function readArchive(read: ReturnType<typeof reader>): ArchiveSettings | undefined {
  const folder = read("DAYBOOK_ARCHIVE_DIR", undefined, "a path", parsePath);
  const [hoursMax, daysMax] = [ARCHIVE_DAYS_MAX * HOURS_PER_DAY, ARCHIVE_DAYS_MAX];
  const hours = `a number of hours from 1 to ${hoursMax}`;
  const days = `a number of days from 1 to ${daysMax}`;
  const fullHours = read("DAYBOOK_ARCHIVE_FULL_HOURS", 24, hours, integer(1, hoursMax));
  const keepDays = read("DAYBOOK_ARCHIVE_KEEP_DAYS", 7, days, integer(1, daysMax));
  return folder === undefined ? undefined : { folder, fullHours, keepDays };
}

/** Reads one setting. On a fault it records the problem and continues with the fallback. */
function reader(env: Env, problems: string[]) {
  return function read<T, F>(
    name: Name,
    fallback: F,
    wanted: string,
    parse: (text: string) => T | undefined,
  ): T | F {
    const text = env[name]?.trim();
    if (text === undefined || text === "") return fallback;
    const value = parse(text);
    if (value !== undefined) return value;
    const shown = SECRET_NAMES.has(name) ? "the value" : `'${text}'`;
    problems.push(`${name}: ${shown} is not ${wanted}. Example: ${name}=${EXAMPLES[name]}`);
    return fallback;
  };
}

function readTls(env: Env, problems: string[]): Config["tls"] {
  const certPath = env.DAYBOOK_TLS_CERT?.trim() || undefined;
  const keyPath = env.DAYBOOK_TLS_KEY?.trim() || undefined;
  if (certPath !== undefined && keyPath !== undefined) return { certPath, keyPath };
  if (certPath === keyPath) return undefined;
  const [set, missing]: [Name, Name] = certPath === undefined
    ? ["DAYBOOK_TLS_KEY", "DAYBOOK_TLS_CERT"]
    : ["DAYBOOK_TLS_CERT", "DAYBOOK_TLS_KEY"];
  problems.push(`${missing}: missing, but ${set} is set. Example: ${missing}=${EXAMPLES[missing]}`);
  return undefined;
}

/** Reports each `DAYBOOK_` variable that does not exist: it is most likely a typing error. */
function unknownNames(env: Env): string[] {
  const known = [...SETTING_NAMES, ...CLIENT_NAMES];
  const unknown = Object.keys(env).filter((name) =>
    name.startsWith("DAYBOOK_") && !known.includes(name)
  );
  return unknown.sort().map((name) => {
    const other = nearestName(name, known);
    const example = EXAMPLES[other as Name];
    const more = example === undefined ? "" : ` Example: ${other}=${example}`;
    const advice = other ? `did you mean ${other}?${more}` : `known are ${known.join(", ")}`;
    return `${name}: there is no such setting; ${advice}`;
  });
}

function parseStore(text: string): StoreName | undefined {
  return STORE_NAMES.find((name) => name === text);
}

function parsePath(text: string): string | undefined {
  return text.includes("\0") ? undefined : text;
}

function parseHostName(text: string): string | undefined {
  const name = text.toLowerCase();
  return HOST_NAME.test(name) && !isIpv4(name) ? name : undefined;
}

function parseHost(text: string): string | undefined {
  if (isIpv4(text) || ipaddr.IPv6.isValid(text)) return text;
  // Digits and dots that form no address would pass as a host name and fail much later.
  return /^[\d.]+$/.test(text) ? undefined : parseHostName(text);
}

function isIpv4(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text);
}

function integer(min: number, max: number): (text: string) => number | undefined {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
}

function parseFlag(text: string): boolean | undefined {
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : undefined;
}

function parseSecret(text: string): Uint8Array | undefined {
  const bytes = new TextEncoder().encode(text);
  return bytes.length >= SECRET_BYTES_MIN ? bytes : undefined;
}

/** Accepts a raw key in hex, or PEM text, where a literal `\n` may stand for a line end. */
function parsePublicKey(text: string): Uint8Array | undefined {
  const key = decodePublicKey(text);
  return key === undefined || isSmallOrder(key.toHex()) ? undefined : key;
}

function decodePublicKey(text: string): Uint8Array | undefined {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Uint8Array.fromHex(text);
  const pem = /^-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]+)-----END PUBLIC KEY-----$/;
  const body = pem.exec(text.replaceAll("\\n", "\n").trim())?.[1];
  try {
    const der = Uint8Array.fromBase64(body ?? "").toHex();
    const isEd25519 = der.startsWith(ED25519_DER_START) && der.length === 88;
    return isEd25519 ? Uint8Array.fromHex(der.slice(ED25519_DER_START.length)) : undefined;
  } catch {
    return undefined;
  }
}

function parseRoles(text: string): Config["roles"] | undefined {
  const names = text.split(",").map((name) => name.trim());
  if (!names.every((name) => name === "api" || name === "worker")) return undefined;
  return { api: names.includes("api"), worker: names.includes("worker") };
}

/** A single address becomes a range of one. */
function parseRanges(text: string): readonly string[] | undefined {
  const ranges = text.split(",").map((part) => part.trim()).filter((part) => part !== "")
    .map(parseRange);
  return ranges.every((range) => range !== undefined) ? ranges : undefined;
}

function parseOrigins(text: string): readonly string[] | undefined {
  const origins = text.split(",").map((part) => part.trim()).filter((part) => part !== "");
  return origins.every(isOrigin) ? origins : undefined;
}

/**
 * Whether the text is an origin as browsers send it: lowercase, no default port, no trailing
 * slash.
 */
function isOrigin(text: string): boolean {
  return /^https?:/.test(text) && URL.parse(text)?.origin === text;
}

function parseRange(text: string): string | undefined {
  const [address, bits, ...rest] = text.split("/");
  const isV6 = ipaddr.IPv6.isValid(address!);
  if (rest.length > 0 || (!isV6 && !isIpv4(address!))) return undefined;
  const bitsMax = isV6 ? 128 : 32;
  if (bits === undefined) return `${address}/${bitsMax}`;
  return integer(0, bitsMax)(bits) === undefined ? undefined : text;
}
