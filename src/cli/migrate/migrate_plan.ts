/**
 * `migrate plan`: reads a file of another system and says what it holds, which spec and map would
 * move it in, what would be refused by which rule, and which fields would be lost. Asks no server.
 */

import { checkImportedEvent } from "../../domain/import/check_event.ts";
import type { JsonObject } from "../../domain/json.ts";
import { applyMap, type MigrationMap, streamPlace, writeMap } from "../../domain/migrate/map.ts";
import type { CutFault } from "../../domain/migrate/split_records.ts";
import type { SourceEvent } from "../../domain/migrate/source_event.ts";
import {
  createSurveyor,
  draftMap,
  draftSpec,
  lostFields,
  type Survey,
} from "../../domain/migrate/survey.ts";
import {
  type Counts,
  createTally,
  describeTally,
  hasRefused,
  type Tally,
} from "../../domain/migrate/tally.ts";
import { sourceNamed } from "../../domain/migrate/sources.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import { compileSpec } from "../../domain/spec/compile.ts";
import { describeRefusal } from "../../http/reply.ts";
import {
  eventReaderOf,
  openSourceOrExit,
  readMapOrExit,
  type SourceFile,
  walkRecords,
} from "./migrate_file.ts";
import { openOutput, type Output } from "../terminal/output.ts";
import { EXIT_FAILED, EXIT_MISUSED, reasonOf } from "../terminal/settings.ts";
import { readSpecFile } from "../spec/spec_file.ts";
import { EXIT_REFUSED, showFaults } from "../spec/spec_faults.ts";

export interface PlanOptions {
  readonly from?: string;
  readonly map?: string;
  readonly spec?: string;
  readonly out?: string;
  readonly json?: boolean;
}

export async function planMigration(path: string, options: PlanOptions): Promise<void> {
  const output = openOutput(options);
  const file = await openSourceOrExit(output, path, options.from);
  const given = await readMapOrExit(output, file, options.map);
  const progress = output.progress(`Reading ${path}`);
  const survey = await surveyFile(output, file, given);
  const map = given.streams.size > 0 ? given : draftMap(survey, given, options.map !== undefined);
  const draft = draftMap(survey, map, true);
  const spec = options.spec === undefined
    ? draftSpec(survey, draft)
    : await readSpecOrExit(output, options.spec);
  const compiled = compileOrExit(output, spec, options.spec);
  progress.say(`Checking ${path}`);
  const { counts, fault } = await checkFile(file, map, compiled);
  progress.end();
  const plan = { file, survey, map, draft, spec, counts, fault };
  const documents = documentsOf(plan);
  if (options.out !== undefined) await writeDrafts(output, options.out, documents);
  output.result(documents, () => describePlan(plan, options).join("\n"));
  if (fault !== undefined) Deno.exit(EXIT_FAILED);
  if (hasRefused(counts)) Deno.exit(EXIT_REFUSED);
}

interface Plan {
  readonly file: SourceFile;
  readonly survey: Survey;
  readonly map: MigrationMap;
  readonly draft: MigrationMap;
  readonly spec: JsonObject;
  readonly counts: Counts;
  readonly fault: CutFault | undefined;
}

async function surveyFile(
  output: Output,
  file: SourceFile,
  map: MigrationMap,
): Promise<Survey> {
  const read = eventReaderOf(file, map);
  const surveyor = createSurveyor(map);
  await walkRecords(file, (record) => {
    const found = read(record);
    if (!found.ok) return;
    for (const event of found.events) {
      const fault = surveyor.add(event);
      if (fault === undefined) continue;
      output.fail({
        error: `${file.path}:${record.line}: ${fault.message}`,
        error_type: fault.rule,
      }, EXIT_FAILED);
    }
  });
  return surveyor.survey();
}

async function readSpecOrExit(output: Output, path: string): Promise<JsonObject> {
  const read = await readSpecFile(path);
  if (read.ok) return read.file.spec;
  const { error, hint } = read;
  return output.fail({ error, error_type: "spec_unreadable", ...(hint && { hint }) }, EXIT_MISUSED);
}

export function compileOrExit(
  output: Output,
  spec: JsonObject,
  path: string | undefined,
): CompiledSpec {
  const compiled = compileSpec(spec);
  if (compiled.ok) return compiled.spec;
  const name = path ?? "the draft";
  const shown = { path: name, spec, locate: () => undefined };
  return output.fail({
    error: `The spec (${name}) is not valid (${compiled.violations.length}).`,
    error_type: "spec_invalid",
    violations: compiled.violations,
    hint: showFaults(compiled.violations, shown, output.paintError, "red"),
  }, EXIT_REFUSED);
}

async function checkFile(file: SourceFile, map: MigrationMap, spec: CompiledSpec) {
  const tally = createTally();
  const read = eventReaderOf(file, map);
  const { name } = sourceNamed(file.source, map.columns);
  const convert = createConverter({ map, source: name, spec, tally, isChecked: true });
  const fault = await walkRecords(file, (record) => {
    const found = read(record);
    if (!found.ok) tally.refused(found.fault.rule, { line: record.line, ...found.fault });
    else {
      for (const reason of found.skipped ?? []) tally.skipped(reason);
      for (const event of found.events) convert(event, record.line);
    }
  });
  return { counts: tally.counts(), fault };
}

export interface Converter {
  readonly map: MigrationMap;
  readonly source: string;
  readonly spec: CompiledSpec;
  readonly tally: Tally;
  /** Whether events are tried as an import tries them. */
  readonly isChecked: boolean;
}

/** The line of an import that an event becomes, counted; undefined if it becomes none. */
export function createConverter(
  { map, source, spec, tally, isChecked }: Converter,
): (event: SourceEvent, line: number) => JsonObject | undefined {
  const apply = applyMap(map, source, spec.singletons);
  return (event, line) => {
    const mapped = apply(event);
    if (mapped.kind === "left_out") {
      tally.leftOut(streamPlace(map, event).category, event.type);
      return undefined;
    }
    if (mapped.kind === "refused") {
      tally.refused(mapped.rule, { line, message: mapped.message });
      return undefined;
    }
    const checked = isChecked ? checkImportedEvent(mapped.event, spec) : undefined;
    if (checked?.ok === false) {
      const { body } = describeRefusal(checked.refusal);
      const { error_type, error, path } = body as { [field: string]: string };
      const details = (body as { details?: readonly { path: string; message: string }[] }).details;
      const [first] = details ?? [];
      const where = first?.path ?? path;
      tally.refused(error_type ?? checked.refusal.kind, {
        line,
        message: first?.message ?? error ?? "",
        ...(where !== undefined && { path: where }),
      });
      return undefined;
    }
    const key = mapped.event.key as string;
    tally.moved(key.slice(0, key.indexOf(":")), mapped.event.type as string);
    return mapped.event;
  };
}

function documentsOf({ file, survey, map, draft, spec, counts, fault }: Plan) {
  const kinds = survey.categories.map(({ category, events, types }) => ({
    category,
    events,
    types: types.map(({ type, events, wrapped }) => ({ type, events, wrapped })),
  }));
  return {
    source: file.source,
    file: file.path,
    events: survey.events,
    streams: survey.streams ?? null,
    kinds,
    counts,
    lost: Object.fromEntries(lostFields(survey, map)),
    ...(fault !== undefined && { fault }),
    map: writeMap(draft),
    spec,
  };
}

async function writeDrafts(
  output: Output,
  folder: string,
  { map, spec, ...plan }: ReturnType<typeof documentsOf>,
): Promise<void> {
  const text = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
  try {
    await Deno.mkdir(folder, { recursive: true });
    for (const [name, value] of Object.entries({ map, spec, plan })) {
      // A map or a spec that somebody has changed is not written over.
      const isKept = name !== "plan" && await isThere(`${folder}/${name}.json`);
      const path = isKept ? `${folder}/${name}.draft.json` : `${folder}/${name}.json`;
      await writeWhole(path, text(value));
      output.note(`Wrote ${path}`);
    }
  } catch (error) {
    output.fail({ error: `${folder}: ${reasonOf(error)}`, error_type: "misused" }, EXIT_MISUSED);
  }
}

/** The file gets its name once it is there as a whole. */
async function writeWhole(path: string, text: string): Promise<void> {
  const part = `${path}.part`;
  try {
    await Deno.writeTextFile(part, text);
    await Deno.rename(part, path);
  } catch (error) {
    await Deno.remove(part).catch(() => {});
    throw error;
  }
}

function isThere(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}

function describePlan(plan: Plan, { out, spec: path }: PlanOptions): string[] {
  const { file, survey, map, draft, spec, counts, fault } = plan;
  const lost = [...lostFields(survey, map)];
  const wrapped = survey.categories.flatMap(({ category, types }) =>
    types.filter(({ wrapped }) => wrapped > 0).map(({ type, wrapped }) =>
      `  ${`${category}.${type}`.padEnd(40)} ${wrapped}`
    )
  );
  return [
    `${file.path}: ${survey.events} events of ${
      survey.streams ?? "very many"
    } streams, from ${file.source}`,
    "",
    "Types",
    ...survey.categories.flatMap(({ category, events, types }) => [
      `  ${category.padEnd(40)} ${events}`,
      ...types.map(({ type, events }) => `    ${type.padEnd(38)} ${events}`),
    ]),
    ...(fault === undefined ? [] : [
      "",
      `The file cannot be read further: line ${fault.line}: [${fault.rule}] ${fault.message}`,
    ]),
    ...describeTally(counts, "Would be moved"),
    ...(wrapped.length === 0
      ? []
      : ["", "Data that is no object, put into a field value", ...wrapped]),
    ...(lost.length === 0 ? [] : [
      "",
      "Lost, unless keep or actor of the map names them",
      ...lost.map(([field, count]) => `  ${field.padEnd(40)} ${count}`),
    ]),
    ...(out === undefined ? documentLines(draft, spec, path) : []),
    "",
    `${counts.events} of ${survey.events} events would be moved. Nothing was written.`,
  ];
}

function documentLines(map: MigrationMap, spec: JsonObject, path: string | undefined): string[] {
  return [
    "",
    "Draft of a map (--out <folder> writes it)",
    JSON.stringify(writeMap(map), null, 2),
    ...(path === undefined ? ["", "Draft of a spec", JSON.stringify(spec, null, 2)] : []),
  ];
}
