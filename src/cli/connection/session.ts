/**
 * What every command that calls a server begins with: its output, the server, the environment, and
 * calls that end the process with the refusal where nobody handles it.
 */

import type { JsonObject } from "../../domain/json.ts";
import { didYouMean } from "../../domain/nearest_name.ts";
import { type Environment, ENVIRONMENTS, parseEnvironment } from "../../domain/tenant.ts";
import { type Host, systemHost } from "../../host.ts";
import { readClientSettings } from "./client_settings.ts";
import { findServer, type Server, siblingUrl } from "./find_server.ts";
import { openOutput, type Output } from "../terminal/output.ts";
import { type Answer, ask, type Call, environmentOfKey, missingCredential } from "./remote.ts";
import { EXIT_FAILED, EXIT_MISUSED } from "../terminal/settings.ts";

/** The options that all these commands have. */
export interface CommonOptions {
  readonly env?: string;
  readonly url?: string;
  readonly profile?: string;
  readonly instance?: string;
  readonly json?: boolean;
}

export type DataCall = Omit<Call, "base" | "as">;

export interface Reader {
  readonly url: string;
  readonly credential: string;
  /** With an operator token: whose data is read. */
  readonly instanceId?: string;
}

export interface Session {
  readonly host: Host;
  readonly output: Output;
  readonly server: Server;
  readonly environment: Environment;
  /** Where data calls of the environment go. */
  address(): Promise<string>;
  /** The instance that operator calls are about. */
  instanceId(): Promise<string>;
  /** A call with the API key. A refusal ends the process. */
  data(call: DataCall): Promise<JsonObject>;
  tryData(call: DataCall): Promise<Answer>;
  /** Where to read, and with which credential; ends the process without one. */
  reader(): Promise<Reader>;
  /** A call with the operator token; the caller names the environment. */
  operator(call: DataCall): Promise<JsonObject>;
  tryOperator(call: DataCall): Promise<Answer>;
}

/**
 * Opens a session with the server that options, variables, profiles and data folders name.
 * @param output another one ends what fails in its own way.
 */
export async function openSession(
  options: CommonOptions,
  output = openOutput(options),
): Promise<Session> {
  const host = systemHost();
  const settings = readClientSettings();
  const found = await findServer(host, settings, options);
  if (!found.ok) {
    const { error, hint } = found;
    return output.fail({ error, error_type: "no_server", ...(hint && { hint }) }, EXIT_MISUSED);
  }
  return await openSessionWith(found.server, options, { host, output, key: settings.key });
}

interface SessionParts {
  readonly host: Host;
  readonly output: Output;
  /** Instead of the key that is kept for the environment. */
  readonly key?: string;
}

export async function openSessionWith(
  server: Server,
  options: CommonOptions,
  { host, output, key }: SessionParts,
): Promise<Session> {
  const asked = options.env === undefined ? undefined : environmentOf(output, options.env);
  const ofKey = key === undefined ? undefined : environmentOfKey(key);
  const places = createPlaces(host, output, server);
  const environment = asked ?? ofKey ?? server.environment ??
    (Object.keys(server.urls).length > 0 ? undefined : await places.own()) ?? "test";
  const credentials = { key: key ?? server.keys[environment], token: server.token };
  const orExit = (answer: Answer) => answer.ok ? answer.body : output.fail(answer.failure);
  /** Without a key, an operator may read, if the call names the instance. */
  async function placeOf({ method, query }: DataCall) {
    const base = await session.address();
    const isRead = method === undefined || method === "GET";
    const asOperator = isRead && credentials.key === undefined && credentials.token !== undefined;
    if (!asOperator) return { base, as: "key" as const, query };
    const instance_id = await session.instanceId();
    return { base, as: "operator" as const, query: { ...query, instance_id } };
  }
  let instance: Promise<string> | undefined;
  const session: Session = {
    host,
    output,
    server,
    environment,
    address: () => places.of(environment),
    instanceId: () => instance ??= findInstance(session, options.instance),
    async tryData(call) {
      const { base, as, query } = await placeOf(call);
      return ask(host, credentials, { ...call, base, as, query });
    },
    data: async (call) => orExit(await session.tryData(call)),
    async reader() {
      const { base, as, query } = await placeOf({ path: "/" });
      const missing = missingCredential(as, credentials);
      if (missing !== undefined) return output.fail(missing);
      const credential = as === "key" ? credentials.key! : credentials.token!;
      const instanceId = query?.instance_id as string | undefined;
      return { url: base, credential, ...(instanceId && { instanceId }) };
    },
    tryOperator: (call) => ask(host, credentials, { ...call, base: server.url, as: "operator" }),
    operator: async (call) => orExit(await session.tryOperator(call)),
  };
  return session;
}

/** Reads the name of an environment; ends the process if it is none. */
function environmentOf(output: Output, text: string): Environment {
  const environment = parseEnvironment(text);
  if (environment !== undefined) return environment;
  const hint = didYouMean(text, ENVIRONMENTS, `There are: ${ENVIRONMENTS.join(", ")}.`);
  return output.fail(
    { error: `There is no environment '${text}'.`, error_type: "misused", hint },
    EXIT_MISUSED,
  );
}

/** Finds out which environment is at which address. */
function createPlaces(host: Host, output: Output, { url, urls }: Server) {
  async function at(address: string): Promise<Environment | undefined> {
    const answer = await ask(host, {}, { base: address, path: "/", as: "nobody" });
    if (answer.ok) return parseEnvironment(String(answer.body.environment));
    // A refusal is one of Daybook; an older one may not have this call.
    const isThere = !["unreachable", "not_daybook"].includes(answer.failure.error_type);
    return isThere || address !== url ? undefined : output.fail(answer.failure);
  }
  let asked: Promise<Environment | undefined> | undefined;
  const own = () => asked ??= at(url);
  return {
    own,
    async of(environment: Environment): Promise<string> {
      const known = urls[environment];
      if (known !== undefined) return known;
      const ours = await own();
      // An address that does not tell is taken for what was asked for.
      if (ours === undefined || ours === environment) return url;
      const sibling = siblingUrl(url, ours, environment);
      if (sibling !== undefined && await at(sibling) === environment) return sibling;
      return output.fail({
        error: `${url} is the address of ${ours}, and that of ${environment} is not known.`,
        error_type: "misused",
        hint: `Give the address of ${environment} with --url, or use --env ${ours}.`,
      }, EXIT_MISUSED);
    },
  };
}

async function findInstance(session: Session, named: string | undefined): Promise<string> {
  const { server, output } = session;
  const wanted = named ?? server.instance;
  if (wanted !== undefined && UUID.test(wanted)) return wanted;
  const { data } = await session.operator({ path: "/api/instances", query: { limit: 200 } });
  const instances = data as unknown as readonly { readonly id: string; readonly slug: string }[];
  const chosen = wanted === undefined && instances.length === 1
    ? instances[0]
    : instances.find(({ slug }) => slug === wanted);
  if (chosen !== undefined) return chosen.id;
  const slugs = instances.map(({ slug }) => slug);
  const list = `There are: ${slugs.join(", ") || "none"}.`;
  return output.fail({
    error: wanted === undefined
      ? `The server has ${instances.length} instances.`
      : `There is no instance '${wanted}'.`,
    error_type: "misused",
    hint: wanted === undefined
      ? `Say which with --instance. ${list}`
      : didYouMean(wanted, slugs, list),
  }, wanted === undefined ? EXIT_MISUSED : EXIT_FAILED);
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
