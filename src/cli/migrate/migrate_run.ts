/**
 * `migrate run`: moves a file of another system in, as imports of a running server. Each part of
 * some megabytes is an import of its own, under a name that follows from the file and the map; so
 * after a kill of either side the same command goes on where it was, and nothing is stored twice.
 */

import { isImportId } from "../../domain/import/progress.ts";
import { importNameOf } from "../../domain/migrate/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { MigrationMap } from "../../domain/migrate/map.ts";
import type { CutFault, RawRecord } from "../../domain/migrate/split_records.ts";
import { sourceNamed } from "../../domain/migrate/sources.ts";
import { createTally, describeTally, type Tally } from "../../domain/migrate/tally.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { readDeployed } from "../spec/deploy.ts";
import {
  eventReaderOf,
  openSourceOrExit,
  readMapOrExit,
  type SourceFile,
  walkRecords,
} from "./migrate_file.ts";
import { compileOrExit, createConverter } from "./migrate_plan.ts";
import type { Failure } from "../terminal/output.ts";
import type { Answer } from "../connection/remote.ts";
import { type CommonOptions, openSession, type Session } from "../connection/session.ts";
import { EXIT_FAILED, EXIT_MISUSED } from "../terminal/settings.ts";
import { seconds } from "../transfer/transfer_settings.ts";

export interface RunMigrationOptions extends CommonOptions {
  readonly from?: string;
  readonly map?: string;
  readonly skipRefused?: boolean;
  readonly append?: boolean;
  readonly name?: string;
}

/** Characters of the lines of one part; two parts are in memory. */
const PART_CHARACTERS = 8 * 1024 * 1024;
const TRIES_MAX = 60;
const TRY_AGAIN_MS = 1_000;
const SAY_EVERY_MS = 2_000;

export async function runMigration(path: string, options: RunMigrationOptions): Promise<void> {
  const session = await openSession(options);
  const { output, environment, host } = session;
  const file = await openSourceOrExit(output, path, options.from);
  if (options.map === undefined) {
    const hint = "Make one with: daybook migrate plan --from <source> --out <folder> <file>";
    output.fail({ error: "A run needs a map: --map.", error_type: "misused", hint }, EXIT_MISUSED);
  }
  const map = await readMapOrExit(output, file, options.map);
  const spec = await deployedSpecOrExit(session);
  // Not of the map: one that is changed for what comes later goes on, and the server refuses one
  // that would change what is stored.
  const name = options.name ?? importNameOf(file.source, file.bytes, file.head);
  if (!isImportId(`${name}-000000`)) {
    const error = "--name must be letters, digits and . _ : - and begin with a letter or digit.";
    output.fail({ error, error_type: "misused" }, EXIT_MISUSED);
  }
  const sender = createSender(session, name);
  await sender.begin(options.append ?? false);
  const beganMs = host.monotonicMs();
  const tally = createTally();
  const failure = await move({ session, file, map, spec, tally, sender, options });
  const counts = tally.counts();
  if (failure !== undefined) output.fail({ ...failure, counts }, EXIT_FAILED);
  const { written, stored } = sender;
  if (stored !== counts.events) {
    const error = `The server has ${stored} events of this file, and ${counts.events} were sent.`;
    output.fail({ error, error_type: "counts_differ", counts }, EXIT_FAILED);
  }
  const time = host.monotonicMs() - beganMs;
  output.result(
    { environment, import: name, written, stored, ms: Math.round(time), counts },
    () =>
      [
        `${output.paint("green", "Moved")} ${stored} events into ${environment} in ${
          seconds(time)
        }` +
        (written === stored ? "." : `; ${written} of them now, the others by earlier runs.`),
        ...describeTally(counts, "Moved"),
        ...(sender.firstKey === undefined
          ? []
          : ["", `Look at the first one: daybook state ${sender.firstKey} --env ${environment}`]),
      ].join("\n"),
  );
}

async function deployedSpecOrExit(session: Session): Promise<CompiledSpec> {
  const { output, environment } = session;
  const deployed = await readDeployed(session);
  if (!deployed.ok) return output.fail(deployed.failure, deployed.code);
  if (deployed.spec !== undefined) return compileOrExit(output, deployed.spec, environment);
  return output.fail({
    error: `${environment} has no spec.`,
    error_type: "no_spec",
    hint: "Deploy the spec of the plan first: daybook deploy <folder>/spec.json",
  });
}

interface Move {
  readonly session: Session;
  readonly file: SourceFile;
  readonly map: MigrationMap;
  readonly spec: CompiledSpec;
  readonly tally: Tally;
  readonly sender: Sender;
  readonly options: RunMigrationOptions;
}

/** Returns why it could not go on, if it could not. */
async function move(
  { session, file, map, spec, tally, sender, options }: Move,
): Promise<Failure | undefined> {
  const { skipRefused: isChecked = false } = options;
  const read = eventReaderOf(file, map);
  const { name: source } = sourceNamed(file.source, map.columns);
  const refusals = stopAtRefusals(tally, isChecked);
  const convert = createConverter({ map, source, spec, tally: refusals.tally, isChecked });
  const progress = createProgress(session, file.path);

  function take(record: RawRecord): Promise<void> | undefined {
    const found = read(record);
    if (!found.ok) refusals.tally.refused(found.fault.rule, { line: record.line, ...found.fault });
    else {
      for (const reason of found.skipped ?? []) tally.skipped(reason);
      for (const event of found.events) {
        const line = convert(event, record.line);
        if (line !== undefined) sender.add(line, record.line);
      }
    }
    refusals.stop();
    if (!sender.isFull) return undefined;
    return sender.send().then(() => progress.say(sender.stored, tally));
  }

  // Where the run ends early, the part that is not full yet is not sent: it would end at another
  // line than in the next run.
  let fault: CutFault | undefined;
  try {
    fault = await walkRecords(file, take);
    if (fault === undefined) await sender.send();
    await sender.settle();
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    await sender.settle().catch(() => {});
    return error.failure;
  } finally {
    progress.end();
  }
  if (fault === undefined) return undefined;
  const error = `${file.path}:${fault.line}: [${fault.rule}] ${fault.message}`;
  const hint = `Mend the file, and go on with the option --name ${sender.name}.`;
  return { error, error_type: fault.rule, line: fault.line, hint };
}

/** Thrown within a run to end it with a failure. */
class Stopped extends Error {
  override readonly name = "Stopped";
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure.error);
    this.failure = failure;
  }
}

/** A tally in which the first refusal ends the run, unless refused events are skipped. */
function stopAtRefusals(tally: Tally, isSkipping: boolean) {
  let first: Failure | undefined;
  return {
    tally: {
      ...tally,
      refused(rule: string, example: Parameters<Tally["refused"]>[1]) {
        tally.refused(rule, example);
        const { line, message } = example;
        first ??= {
          error: `Line ${line}: [${rule}] ${message}`,
          error_type: rule,
          line,
          hint: "Change the map or the spec; a plan lists all refusals. --skip-refused leaves " +
            "such events out.",
        };
      },
    } satisfies Tally,
    stop() {
      if (first !== undefined && !isSkipping) throw new Stopped(first);
    },
  };
}

interface Sender {
  /** Of the imports. A file that was changed is another one, unless the option says this name. */
  readonly name: string;
  /** Whether the part is large enough to be sent. */
  readonly isFull: boolean;
  /** Events that this run has written, and those that the server has of this file. */
  readonly written: number;
  readonly stored: number;
  /** Of the aggregate that the first event belongs to. */
  readonly firstKey: string | undefined;
  begin(isAppended: boolean): Promise<void>;
  /** Adds a line of an import to the part; `from` is its line in the source. */
  add(line: JsonObject, from: number): void;
  /** Begins to send the part, once the one before is stored. */
  send(): Promise<void>;
  /** Waits for the last part. */
  settle(): Promise<void>;
}

function createSender(session: Session, name: string): Sender {
  const encoder = new TextEncoder();
  let lines: string[] = [];
  let from: number[] = [];
  let characters = 0;
  let part = 0;
  let written = 0;
  let stored = 0;
  let sending: Promise<void> = Promise.resolve();
  /** What has to be looked for in the environment before anything is sent. */
  let isLookedFor = false;
  let first: JsonObject | undefined;

  async function sendPart(
    body: Uint8Array<ArrayBuffer>,
    places: readonly number[],
    number: number,
  ) {
    const answer = await post(session, `${name}-${String(number).padStart(6, "0")}`, body);
    if (!answer.ok) {
      const { failure } = answer;
      const line = typeof failure.line === "number" ? places[failure.line - 1] : undefined;
      const error = line === undefined ? failure.error : `Line ${line}: ${failure.error}`;
      throw new Stopped({ ...failure, error, ...(line !== undefined && { line }) });
    }
    const { written: now, import: all } = answer.body as unknown as Imported;
    written += now;
    stored += all.written;
  }

  return {
    name,
    get isFull() {
      return characters >= PART_CHARACTERS;
    },
    get written() {
      return written;
    },
    get stored() {
      return stored;
    },
    get firstKey() {
      return first?.key as string | undefined;
    },
    async begin(isAppended) {
      const isKnown = await findBegun(session, name, isAppended);
      isLookedFor = isAppended && !isKnown;
    },
    add(line, place) {
      first ??= line;
      const text = JSON.stringify(line);
      lines.push(text);
      from.push(place);
      characters += text.length + 1;
    },
    async send() {
      if (lines.length === 0) return;
      if (isLookedFor && part === 0) await refuseMovedBefore(session, first!, from[0]!);
      const body = encoder.encode(`${lines.join("\n")}\n`);
      const places = from;
      [lines, from, characters] = [[], [], 0];
      await sending;
      sending = sendPart(body, places, part++);
      // Awaited with the next part; until then a rejection must not be unhandled.
      sending.catch(() => {});
    },
    settle: () => sending,
  };
}

interface Imported {
  readonly written: number;
  readonly import: { readonly written: number };
}

/** Sends a part, again and again while the server is not there. */
async function post(
  { tryOperator, instanceId, environment, output }: Session,
  importId: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<Answer> {
  const query = { import_id: importId, environment, instance_id: await instanceId() };
  const headers = { "content-type": "application/x-ndjson" };
  for (let attempt = 1;; attempt++) {
    const answer = await tryOperator({
      method: "POST",
      path: "/_admin/import_jsonl",
      query,
      headers,
      body,
    });
    if (answer.ok) return answer;
    const { failure } = answer;
    const isPassing = failure.error_type === "unreachable" || failure.status === 503;
    if (!isPassing || attempt >= TRIES_MAX) {
      const hint = failure.reason === "other_file"
        ? "The file was begun with another map, or is another one. Take the earlier map, or move " +
          "it into an environment that is empty."
        : failure.hint ?? "Run the same command again: it goes on where it was.";
      return { ok: false, failure: { ...failure, hint } };
    }
    if (attempt === 1) output.note(`${failure.error} Trying again.`);
    await new Promise((resolve) => setTimeout(resolve, TRY_AGAIN_MS));
  }
}

/**
 * Whether the file was begun before. One that was not needs an empty environment, or the word that
 * it may be added.
 */
async function findBegun(session: Session, name: string, isAppended: boolean): Promise<boolean> {
  const { output, environment } = session;
  const known = await session.tryOperator({
    path: `/_admin/imports/${name}-000000`,
    query: { environment, instance_id: await session.instanceId() },
  });
  if (known.ok) {
    output.note("This file was begun before; what is stored of it is skipped.");
    return true;
  }
  if (known.failure.status !== 404) return output.fail(known.failure);
  if (isAppended) return false;
  const { data } = await session.data({ path: "/_types" });
  const types = data as unknown as readonly { readonly events: number }[];
  if (types.every(({ events }) => events === 0)) return false;
  return output.fail({
    error: `${environment} has events, and none of them are from this file.`,
    error_type: "not_empty",
    hint:
      "To add the file to what is there: --append. A later dump of the same store must only have " +
      "what is new.",
  });
}

interface Moved {
  readonly event: { readonly metadata: { readonly origin?: JsonObject } };
}

/** Refuses a file whose first event is there already, as in a later dump of the whole store. */
async function refuseMovedBefore(session: Session, line: JsonObject, place: number): Promise<void> {
  const { source, id, position } = (line.metadata as { origin: JsonObject }).origin;
  const [type, ...rest] = (line.key as string).split(":");
  const path = `/${type}/${encodeURIComponent(rest.join(":"))}/events`;
  const answer = await session.tryData({ path });
  if (!answer.ok) return;
  const isSame = ({ event }: Moved) => {
    const { origin } = event.metadata;
    if (origin?.source !== source) return false;
    return id === undefined
      ? position !== undefined && origin!.position === position
      : origin!.id === id;
  };
  if (!(answer.body.data as unknown as readonly Moved[]).some(isSame)) return;
  throw new Stopped({
    error: `Line ${place}: the event ${id ?? position} of ${line.key} is there already.`,
    error_type: "moved_before",
    line: place,
    hint:
      "An earlier file had it. A later dump of the same store must only have what is new: see " +
      'docs/reference/migrate.md, "Later".',
  });
}

function createProgress({ output, host }: Session, path: string) {
  const shown = output.progress(`Moving ${path}`);
  const beganMs = host.monotonicMs();
  let saidMs = beganMs;
  return {
    say(stored: number, tally: Tally) {
      const nowMs = host.monotonicMs();
      if (nowMs - saidMs < SAY_EVERY_MS) return;
      saidMs = nowMs;
      const text = `Stored ${stored} of ${tally.counts().events} events read so far, in ` +
        seconds(nowMs - beganMs);
      shown.say(text);
      if (!Deno.stderr.isTerminal()) output.note(text);
    },
    end: () => shown.end(),
  };
}
