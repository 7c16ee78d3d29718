/**
 * `drill`: proves that a backup can be restored. It restores it into a folder of its own, which is
 * removed in the end, checks that store as `fsck` does, and compares heads of streams with those of
 * the running server: what the backup has must be the beginning of what the server has.
 */

import type { Config } from "../../config.ts";
import { ENVIRONMENTS } from "../../domain/tenant.ts";
import { ERASED_TYPE } from "../../domain/erasure/marker.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import { checkStore } from "../../features/checks/check_store.ts";
import { type Host, systemHost } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { checkStoreFile, openEngine } from "../../kv/open_engine.ts";
import { listInstances } from "../../store/access/instances.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { readHead } from "../../store/streams/streams.ts";
import { openOutput, type Output, type Progress } from "../terminal/output.ts";
import { ask } from "../connection/remote.ts";
import { restoreFrom, type RestoreOptions, sourceOf } from "./restore.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { counted } from "../spec/show_data_check.ts";
import { reasonOf, settingsOrExit } from "../terminal/settings.ts";

export interface DrillOptions extends CommonOptions, Pick<RestoreOptions, "archive" | "at"> {
  readonly metrics?: string;
}

/** Streams of each environment whose heads are compared. */
const SAMPLE = 500;
const PAGE = 1_000;
const AT_ONCE = 8;
/** Faults that are told. */
const TOLD_MAX = 20;
const MS_PER_SECOND = 1_000;

export async function drill(file: string | undefined, options: DrillOptions): Promise<void> {
  const output = openOutput(options);
  const source = sourceOf(file, options, output);
  const host = systemHost();
  const folder = await Deno.makeTempDir({ prefix: "daybook_drill_" });
  const config: Config = { ...settingsOrExit(), dataDir: `${folder}/data` };
  const progress = output.progress("Restoring");
  let result: Drilled;
  try {
    const wish = { host, config, progress, resume: true };
    const { moment } = await restoreFrom(source, wish);
    result = { moment, ...await check(host, config, options, progress) };
  } catch (error) {
    result = { moment: null, streams: 0, compared: 0, faults: [reasonOf(error)] };
  }
  progress.end();
  await Deno.remove(folder, { recursive: true });
  if (options.metrics !== undefined) await writeMetrics(options.metrics, host, result);
  const { moment, streams, compared, faults } = result;
  if (faults.length > 0) {
    const told = faults.slice(0, TOLD_MAX).join("\n  ");
    output.fail({ error: `The drill has failed:\n  ${told}`, error_type: "failed", ...result });
  }
  const heads = compared === 1 ? "1 head is that" : `${compared} heads are those`;
  output.result(
    result,
    () =>
      `The backup can be restored: the deployment as of ${moment}, ${counted(streams, "stream")} ` +
      `without a fault; ${heads} of the server`,
  );
  Deno.exit(0);
}

interface Drilled {
  /** The restored moment; null if there is none. */
  readonly moment: string | null;
  readonly streams: number;
  readonly compared: number;
  readonly faults: readonly string[];
}

async function check(
  host: Host,
  config: Config,
  options: DrillOptions,
  progress: Progress,
): Promise<Omit<Drilled, "moment">> {
  const engine = await openEngine(config, host);
  const checked = await checkOpen(host, engine, options, progress).finally(() => engine.close());
  return { ...checked, faults: [...checked.faults, ...checkStoreFile(config)] };
}

async function checkOpen(
  host: Host,
  engine: Engine,
  options: DrillOptions,
  progress: Progress,
): Promise<Omit<Drilled, "moment">> {
  progress.say("Checking the restored store");
  const { faults, streams } = await checkStore(engine, false);
  const found = faults.map(({ place, subject, fault }) => `${place}: ${subject}: ${fault}`);
  progress.say("Comparing with the server");
  const heads = await compareHeads(host, engine, options);
  return { streams, compared: heads.compared, faults: [...found, ...heads.faults] };
}

/** Compares some streams of each environment with what the server has. */
async function compareHeads(
  host: Host,
  engine: Engine,
  options: DrillOptions,
): Promise<{ readonly compared: number; readonly faults: string[] }> {
  const faults: string[] = [];
  let compared = 0;
  for (const { id, slug, tenants } of await engine.snapshot((tx) => listInstances(tx))) {
    for (const environment of ENVIRONMENTS) {
      const sample = await sampleStreams(host, engine, tenants[environment]);
      if (sample.length === 0) continue;
      const wish = { ...options, env: environment, instance: id };
      const session = await openSession(wish, throwing(openOutput(options)));
      for (let from = 0; from < sample.length; from += AT_ONCE) {
        const some = sample.slice(from, from + AT_ONCE);
        const answers = await Promise.all(
          some.map((key) =>
            compareHead({ session, engine, tenant: tenants[environment], instance: id }, key)
          ),
        );
        for (const [at, fault] of answers.entries()) {
          compared++;
          if (fault !== undefined) faults.push(`${slug} ${environment}: ${some[at]}: ${fault}`);
        }
      }
    }
  }
  return { compared, faults };
}

/** Ends what fails without ending the process, so that the restored store is removed, and told. */
function throwing(output: Output): Output {
  return {
    ...output,
    fail({ error }) {
      throw new Error(error);
    },
  };
}

/** Up to {@link SAMPLE} streams, each with the same chance. */
async function sampleStreams(host: Host, engine: Engine, tenant: number): Promise<StreamKey[]> {
  const sample: StreamKey[] = [];
  let seen = 0;
  for (let after: StreamKey | undefined, isMore = true; isMore;) {
    const page = await engine.snapshot((tx) => listStreams(tx, tenant, { after, limit: PAGE }));
    for (const key of page) {
      const place = seen < SAMPLE ? seen : randomBelow(host, seen + 1);
      if (place < SAMPLE) sample[place] = key;
      seen++;
    }
    after = page.at(-1);
    isMore = page.length === PAGE;
  }
  return sample;
}

function randomBelow(host: Host, bound: number): number {
  return new DataView(host.randomBytes(4).buffer).getUint32(0) % bound;
}

interface Compared {
  readonly session: Session;
  readonly engine: Engine;
  readonly tenant: number;
  readonly instance: string;
}

/** What is wrong with a stream; undefined if the server's begins with the restored one. */
async function compareHead(
  { session, engine, tenant, instance }: Compared,
  key: StreamKey,
): Promise<string | undefined> {
  const { length, tip } = await engine.snapshot((tx) => readHead(tx, tenant, key));
  if (length === 0) return undefined;
  const { type, id } = splitStreamKey(key);
  const before = length === 1 ? undefined : String(length - 2).padStart(EVENT_ID_DIGITS, "0");
  const answer = await ask(session.host, { token: session.server.token }, {
    base: await session.address(),
    path: `/${encodeURIComponent(type)}/${encodeURIComponent(id)}/events`,
    query: { count: 1, start: before, instance_id: instance },
    as: "operator",
  });
  // A type that is no longer in the spec cannot be read.
  if (!answer.ok) return answer.failure.status === 404 ? undefined : answer.failure.error;
  const [last] = answer.body.data as unknown as ListedEvent[];
  if (last === undefined) return `the server has fewer than its ${length} events`;
  // An erasure since then has given the stream another chain.
  if (last.hash === tip || last.event.type === ERASED_TYPE) return undefined;
  return `event ${length - 1} is another one on the server`;
}

const EVENT_ID_DIGITS = 12;

interface ListedEvent {
  readonly hash: string;
  readonly event: { readonly type: string };
}

/** For the textfile collector of a Prometheus node exporter. */
async function writeMetrics(path: string, host: Host, { faults, compared }: Drilled) {
  const lines = [
    ["daybook_drill_success", faults.length === 0 ? 1 : 0],
    ["daybook_drill_time_seconds", Math.floor(host.nowMs() / MS_PER_SECOND)],
    ["daybook_drill_heads_compared", compared],
  ].map(([name, value]) => `# TYPE ${name} gauge\n${name} ${value}\n`);
  const part = `${path}.part`;
  await Deno.writeTextFile(part, lines.join(""));
  await Deno.rename(part, path);
}
