/**
 * Fails on what the style forbids. That is: long files, functions and lines; names and calls
 * that are refused; a file without a header or without a test; unfinished work. The limits and
 * lists are data in `checks/style_tables.ts`. Prints `file:line: [rule] message`, and exits
 * with 1 if there are faults.
 */

import { chargedLoops } from "./checks/charged_loops.ts";
import { type Fault, readSources, reportAndExit, type Source } from "./checks/source_tree.ts";
import * as rules from "./checks/style_rules.ts";
import { sameNames } from "./checks/same_names.ts";
import {
  FOLDER_FILES_MAX,
  LONG_SIGNATURES,
  type LongSignatures,
  PRODUCT_FOLDERS,
} from "./checks/style_tables.ts";
import { COVERED_BY_NEIGHBOUR, type Neighbour } from "./checks/covered_by_neighbour.ts";

const RULES: readonly rules.Rule[] = [
  rules.fileLength,
  rules.functionLength,
  rules.pathNames,
  rules.refusedCalls,
  rules.refusedParsing,
  rules.headerComment,
  rules.lineLength,
  rules.unfinishedWork,
  rules.testAlone,
  rules.exportForms,
  rules.declarationForms,
  chargedLoops,
];

/** Tables of what the rules must not report. */
export interface Excused {
  readonly neighbours: readonly Neighbour[];
  readonly signatures: readonly LongSignatures[];
}

const EXCUSED: Excused = { neighbours: COVERED_BY_NEIGHBOUR, signatures: LONG_SIGNATURES };

export function checkStyle(sources: readonly Source[], excused: Excused = EXCUSED): Fault[] {
  return [
    ...sources.flatMap((source) => RULES.flatMap((rule) => rule(source))),
    ...signatureFaults(sources, excused.signatures),
    ...sameNames(sources),
    ...crowdedFolders(sources),
    ...untested(sources, excused.neighbours),
  ];
}

/** The first row with the place of a long signature excuses it, if it says no fewer. */
function signatureFaults(sources: readonly Source[], rows: readonly LongSignatures[]): Fault[] {
  const faults: Fault[] = [];
  const excused = new Map<LongSignatures, Fault[]>(rows.map((row) => [row, []]));
  for (const found of sources.flatMap((source) => rules.longSignatures(source))) {
    const row = rows.find(({ place }) => rules.within(found.path, place));
    (row === undefined ? faults : excused.get(row)!).push(found);
  }
  for (const [{ place, count, reason }, found] of excused) {
    if (found.length > 0 && found.length <= count && reason !== "") continue;
    const message = `the row for ${place} gives no reason, or there are none or more than ${count}`;
    const path = "scripts/checks/style_tables.ts";
    faults.push(...found, { path, line: 1, rule: "parameters", message });
  }
  return faults;
}

function crowdedFolders(sources: readonly Source[]): Fault[] {
  const product = sources.filter(({ path }) =>
    PRODUCT_FOLDERS.some((folder) => rules.within(path, folder))
  );
  return [...Map.groupBy(product, ({ path }) => path.slice(0, path.lastIndexOf("/")))]
    .filter(([, files]) => files.length > FOLDER_FILES_MAX)
    .map(([folder, files]) => {
      const message = `${folder} has ${files.length} files, at most ${FOLDER_FILES_MAX}`;
      return rules.fault(files[0]!, 1, "folder_files", message);
    });
}

/** A file is tested by `<name>_test.ts` in its folder of `tests`, or by its neighbour's test. */
function untested(sources: readonly Source[], neighbours: readonly Neighbour[]): Fault[] {
  const paths = new Set(sources.map((source) => source.path));
  const lonely = sources.filter((source) =>
    (rules.within(source.path, "src") || rules.within(source.path, "sdk/src")) &&
    !rules.declaresOnlyTypes(source) && !rules.isEntryPoint(source) &&
    !paths.has(mirrorOf(source.path))
  );
  const faults: Fault[] = [];
  for (const { place, test, reason } of neighbours) {
    const isNeeded = lonely.some((source) => rules.within(source.path, place));
    if (isNeeded && paths.has(test) && reason !== "") continue;
    const message = `the row for ${place} is not needed, names no test, or gives no reason`;
    faults.push({
      path: "scripts/checks/covered_by_neighbour.ts",
      line: 1,
      rule: "neighbour",
      message,
    });
  }
  for (const source of lonely) {
    if (neighbours.some(({ place }) => rules.within(source.path, place))) continue;
    faults.push(rules.fault(source, 1, "untested", `there is no ${mirrorOf(source.path)}`));
  }
  return faults;
}

function mirrorOf(path: string): string {
  return path.replace(/^sdk\/src\//, "tests/sdk/").replace(/^src\//, "tests/")
    .replace(/\.ts$/, "_test.ts");
}

if (import.meta.main) {
  const sources = await readSources(["main.ts", "src", "sdk", "console/src", "tests", "scripts"]);
  reportAndExit("style", sources.length, checkStyle(sources));
}
