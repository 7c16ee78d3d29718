/**
 * `serve`: the composition root. It opens everything, runs until told to stop, and closes in
 * order.
 */

import type { RestoredView } from "../features/backup/backup_service.ts";
import { prepareEffects } from "../features/reactions/read_effects.ts";
import { type Access, createAccess } from "../features/access/access_service.ts";
import { devKey } from "../domain/access/dev_keys.ts";
import { ENVIRONMENTS } from "../domain/tenant.ts";
import {
  bootstrap,
  checkDevKeys,
  FIRST_SLUG,
  type FirstStart,
} from "../features/access/bootstrap.ts";
import { baseUrls, opensMetricsLocally, plainTextWarning, reachableHost } from "../addresses.ts";
import { type Config } from "../config.ts";
import { countTransaction, newCounters } from "../domain/measures/counters.ts";
import { newThreadWatch } from "../domain/fairness/thread_watch.ts";
import { type Host, systemHost } from "../host.ts";
import { clientAddress, parseAddressRanges } from "../http/client_address.ts";
import {
  refuseTakenPorts,
  type RunningServer,
  type ServeOptions,
  startServer,
} from "../http/serve.ts";
import { type Archive, openArchive } from "../archive/keep_archive.ts";
import { describeRefusal } from "../http/reply.ts";
import { builtReader } from "../built_files.ts";
import { CAPABILITIES } from "../kv/capabilities.ts";
import type { Bytes, Engine } from "../kv/engine.ts";
import { measureEngine } from "../kv/calls.ts";
import { openEngine, storePlace } from "../kv/open_engine.ts";
import { type CredentialsFile, credentialsFile, readPrivateFiles } from "../private_files.ts";
import { canLimitMemory, LIMITER_PATH } from "../runners/memory_limit.ts";
import { prepareFeed } from "../features/feed/fill_feed.ts";
import { createService, type Service } from "../features/service.ts";
import type { Tracer } from "../domain/measures/tracer.ts";
import { openTelemetry } from "../telemetry.ts";
import { traceSender, webhookSender } from "../webhook/sender.ts";
import {
  anchorWorker,
  deliveryWorker,
  erasureWorker,
  feedFillWorker,
  leaseWorker,
  memoryWorker,
  outboxWorker,
  projectionBuildWorker,
  projectionCopyWorker,
  projectionWorker,
  snapshotWorker,
  sweeper,
  timerWorker,
  typeCountWorker,
} from "../workers/workers.ts";
import { type RunningWorker, runWorker, watchThread, type Worker } from "../workers/worker.ts";
import { print } from "./terminal/print.ts";
import {
  EXIT_FAILED,
  exitWith,
  reasonOf,
  settingsOrExit,
  tokenSecret,
} from "./terminal/settings.ts";

/**
 * Processes for SQL: each may use a core and some hundred MiB for the five seconds of its
 * query.
 */
const SQL_RUNNERS = Math.max(2, Math.ceil(navigator.hardwareConcurrency / 2));
/** Processes for heavy computation: more than one, so that one client's work never takes all. */
const COMPUTE_RUNNERS = 2;
/** Where `deno task console` puts the built console. */
const CONSOLE_FOLDER = `${import.meta.dirname}/../../dist/console`;
/** Where `deno task docs` puts the built documentation. */
const DOCS_FOLDER = `${import.meta.dirname}/../../dist/docs`;
/** How long requests and worker runs that are under way may take to end once the stop begins. */
const STOP_GRACE_MS = 4_000;
/** How long a server with a broken store keeps answering that it is broken. */
const BROKEN_GRACE_MS = 1_000;
/** After this the process exits, whatever still runs, so that a stop takes at most 10 s. */
const STOP_DEADLINE_MS = 9_500;

interface Running {
  readonly engine: Engine;
  readonly access: Access;
  readonly service: Service;
  readonly server: RunningServer | undefined;
  readonly workers: readonly RunningWorker[];
  readonly endWatch: () => void;
  readonly archive: Archive | undefined;
}

export async function serve(): Promise<void> {
  const config = settingsOrExit();
  const tracer = config.tracing ? openTelemetry() : undefined;
  const host = systemHost(tracer);
  const warning = plainTextWarning(config);
  if (warning !== undefined) host.log("warn", warning);
  if (!canLimitMemory()) {
    host.log("warn", "Processes for SQL and modules run without a limit on their memory", {
      reason: `${LIMITER_PATH} of util-linux is not there, or may not be run`,
    });
  }
  // Listen before "ready" is printed: the process that starts a server may stop it at once.
  const signal = stopSignal();
  let running: Running;
  try {
    running = await start(config, host, tracer);
  } catch (error) {
    exitWith(EXIT_FAILED, `Daybook cannot start: ${reasonOf(error)}`);
  }
  const failure = await Promise.race([running.engine.untilBroken(), signal]);
  if (failure instanceof Error) {
    // Meanwhile requests are still answered, with the failure, so that no answer is missing.
    host.log("error", "The store is broken; ending, for a new start puts it in order", {
      reason: failure.message,
      cause: String(failure.cause),
    });
    await new Promise((resolve) => setTimeout(resolve, BROKEN_GRACE_MS));
  } else host.log("info", `Stopping on ${failure}`);
  const deadline = setTimeout(() => {
    host.log("error", "Stopping took too long; ending now");
    Deno.exit(EXIT_FAILED);
  }, STOP_DEADLINE_MS);
  await stop(running);
  clearTimeout(deadline);
  if (running.engine.failure() !== undefined) {
    host.log("error", "Stopped; the store is as it was, for the next start to put in order");
    Deno.exit(EXIT_FAILED);
  }
  host.log("info", "Stopped");
  Deno.exit(0);
}

async function start(config: Config, host: Host, tracer?: Tracer): Promise<Running> {
  const tls = config.tls && {
    cert: await Deno.readTextFile(config.tls.certPath),
    key: await Deno.readTextFile(config.tls.keyPath),
  };
  // Check before anything is created: a first start writes down the server's address.
  if (config.roles.api) refuseTakenPorts({ ...config, hostname: config.host });
  const counters = newCounters();
  const archive = config.archive && openArchive(config.archive, host);
  const engine = measureEngine(
    await openEngine({ ...config, isServing: true, onDurable: archive?.onDurable }, host),
    host.monotonicMs,
    (isCommitted, runs, seconds) => countTransaction(counters.store, isCommitted, runs, seconds),
  );
  const version = await engine.snapshot((tx) => tx.readVersion());
  await prepareFeed(engine);
  await prepareEffects(engine, host.nowMs());
  const jwtSecret = await tokenSecret(config, host, () => Promise.resolve(engine));
  const access = createAccess(engine, host, { jwtSecret, jwtPublicKey: config.jwtPublicKey });
  const sender = webhookSender(host, { allowPrivate: config.allowPrivateWebhooks });
  const service = createService(engine, host, access, {
    tracer,
    counters,
    webhooks: {
      sender: tracer === undefined ? sender : traceSender(sender, tracer),
      headerPrefix: config.headerPrefix,
      allowPrivate: config.allowPrivateWebhooks,
    },
    // One for each core, and one more that works while another waits for its module.
    wasm: { runners: navigator.hardwareConcurrency + 1, stackKilobytes: config.wasmStackKilobytes },
    compute: { runners: COMPUTE_RUNNERS, cacheFolder: config.runtimeFolder },
    // A single instance may use all but one of them at a time.
    backup: {
      store: config.store,
      readPrivateFiles: () => readPrivateFiles(config.dataDir),
    },
    measureArchive: archive?.measure,
    sql: config.roles.api ? { runners: SQL_RUNNERS, folder: copiesFolder(config) } : undefined,
  });
  const credentials = credentialsFile(config.dataDir);
  const first = config.bootstrap
    ? await bootstrap(engine, host, credentials, {
      jwtSecret,
      baseUrls: baseUrls(config, FIRST_SLUG),
      devKeys: config.devKeys,
    })
    : undefined;
  await checkDevKeys(engine, host, config.devKeys);
  if (config.devKeys) host.log("warn", DEV_KEYS_WARNING);
  // All that is told is read before a client can find the server ready.
  const restored = await service.backup.readRestored();
  // The file of a restored deployment names the server that was backed up.
  if (config.roles.api && restored.paused) await writeAddress(config, host, credentials);
  const hasFile = await credentials.readPublished() !== undefined;
  const about = [
    tellKeys(config, first, hasFile ? credentials.path : undefined),
    tellRestored(restored),
  ];
  const watch = newThreadWatch(counters.loopDelaySeconds, host.monotonicMs());
  const settings = { tls, tracer, watch };
  const server = config.roles.api ? await listen(config, host, service, settings) : undefined;
  const workers = workersOf(config, service).map((worker) =>
    runWorker(worker, host, counters.workerFailures, watch)
  );
  const endWatch = watchThread(watch, host);
  announce(config, server, about);
  archive?.begin(Number(version), () => beginBackup(service));
  return { engine, access, service, server, workers, endWatch, archive };
}

async function writeAddress(
  config: Config,
  host: Host,
  credentials: CredentialsFile,
): Promise<void> {
  try {
    await credentials.moveTo((slug) => baseUrls(config, slug));
  } catch (error) {
    // The disk is full, say. Commands then need the address.
    const reason = reasonOf(error);
    host.log("warn", "The address could not be written", { path: credentials.path, reason });
  }
}

function beginBackup({ backup }: Service): AsyncIterable<Bytes> {
  const begun = backup.begin();
  if (begun.ok) return begun.value;
  throw new Error(describeRefusal(begun.refusal).body.error as string);
}

/** The folder belongs to this process alone. Anything lost from it is made anew. */
function copiesFolder({ dataDir }: Config): string {
  return `${dataDir}/views`;
}

function isShared({ store }: Config): boolean {
  return CAPABILITIES[store].isShared;
}

/**
 * A process that answers requests looks after its own memory, its own copies of projections, and
 * what its requests want counted.
 * All other background work belongs to the worker role.
 */
function workersOf(config: Config, service: Service): Worker[] {
  const own = config.roles.api
    ? [memoryWorker(service), projectionCopyWorker(service), typeCountWorker(service)]
    : [];
  if (!config.roles.worker) return own;
  const renewing = isShared(config) ? [leaseWorker(service)] : [];
  return [
    ...own,
    ...renewing,
    outboxWorker(service),
    timerWorker(service),
    deliveryWorker(service),
    projectionWorker(service),
    projectionBuildWorker(service),
    feedFillWorker(service),
    snapshotWorker(service),
    anchorWorker(service, config.anchorIntervalSeconds),
    erasureWorker(service),
    sweeper(service),
  ];
}

/**
 * Says where the keys of the first start are, if people may not know yet. `path` is the file
 * with those keys, if it exists.
 */
function tellKeys(
  config: Config,
  first: FirstStart | undefined,
  path: string | undefined,
): string | undefined {
  if (first?.kind === "made") {
    return `First start: API keys and an operator token are in ${path}`;
  }
  // For an embedded store whose folder was moved, this would only name the old place.
  if (first?.kind === "made_elsewhere" && isShared(config)) {
    return `The first start was elsewhere: it wrote API keys to ${first.place}`;
  }
  if (path === undefined) return undefined;
  return `  keys        ${path}; its operator token lasts a day, \`main.ts token\` prints another`;
}

function tellRestored({ paused, moment }: RestoredView): string | undefined {
  if (!paused) return undefined;
  return `  restored    as of ${moment}; reactions, timers, deliveries and anchors wait for ` +
    "`daybook resume`";
}

function listen(
  config: Config,
  host: Host,
  service: Service,
  settings: Pick<ServeOptions, "tls" | "tracer" | "watch">,
): Promise<RunningServer> {
  const trusted = parseAddressRanges(config.trustedProxies);
  return startServer(service, host, {
    hostname: config.host,
    port: config.port,
    baseDomain: config.baseDomain,
    ...settings,
    headerPrefix: config.headerPrefix,
    ipLimitPerMinute: config.ipLimitPerMinute,
    corsOrigins: config.corsOrigins,
    readConsole: builtReader(CONSOLE_FOLDER),
    readDocs: builtReader(DOCS_FOLDER),
    opensMetricsLocally: opensMetricsLocally(config),
    clientAddress: (peer, forwardedFor) => clientAddress(peer, forwardedFor, trusted),
  });
}

/** A URL that can be opened on this machine, even if the server listens on all addresses. */
function reachableUrl({ host }: Config, url: string): string {
  if (host !== "0.0.0.0" && host !== "::") return url;
  const { protocol, port } = new URL(url);
  return `${protocol}//${reachableHost(host)}:${port} (listening on all addresses)`;
}

/** Announces readiness to people, on standard output. The log goes to standard error. */
function announce(
  config: Config,
  server: RunningServer | undefined,
  more: readonly (string | undefined)[],
): void {
  const lines = ["Daybook is ready."];
  for (const { environment, url } of server?.addresses ?? []) {
    const what = environment ?? `all hosts of ${config.baseDomain}`;
    lines.push(`  ${what.padEnd(11)} ${reachableUrl(config, url)}`);
  }
  const [first] = server?.addresses ?? [];
  if (first === undefined) lines.push("  worker only: no address");
  else {
    lines.push("  console     /_console/ at each address; `daybook open` opens it");
    lines.push("  docs        /_docs/ at each address");
  }
  lines.push(
    `  ${storePlace(config)}`,
  );
  lines.push(...more.filter((line) => line !== undefined));
  if (config.devKeys) lines.push(...devKeyLines());
  print(lines.join("\n"));
}

const DEV_KEYS_WARNING = "DAYBOOK_DEV_KEYS is on: everybody knows the API keys of this server. " +
  "It is for development on this machine alone";

function devKeyLines(): string[] {
  const keys = ENVIRONMENTS.map((environment) =>
    `  ${environment.padEnd(12)}${devKey(environment, "write")}`
  );
  return ["", `WARNING: ${DEV_KEYS_WARNING}.`, "Its write keys:", ...keys];
}

function stopSignal(): Promise<Deno.Signal> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      Deno.addSignalListener(signal, () => resolve(signal));
    }
  });
}

/**
 * Closes from the edge inwards: nothing is closed while something in front of it may still need
 * it. Steps that may wait for an unavailable store run in parallel, to stay below the deadline.
 */
async function stop(running: Running): Promise<void> {
  const { engine, access, service, server, workers, endWatch, archive } = running;
  archive?.expectEnd();
  // Imports would outlast the grace period of the listeners. Each can be resumed.
  service.imports.stop();
  const atRest = Promise.all(workers.map((worker) => worker.stop()));
  // Work that has not ended by then is left as if the process had died: others resume it.
  const isOver = new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS));
  await Promise.all([server?.stop(STOP_GRACE_MS), Promise.race([atRest, isOver])]);
  await Promise.all([service.close(), access.close()]);
  await engine.close();
  await archive?.close();
  endWatch();
}
