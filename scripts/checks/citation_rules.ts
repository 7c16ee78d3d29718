/**
 * What comments and documents cite has to be in the repository: a document by its path from the
 * root, perhaps with a heading of it, and nothing by the name of a text that is somewhere else.
 * In Markdown also: links lead somewhere, and files that are named by their path are there.
 */

import { commentsOf, joinLines, type Prose } from "./comments.ts";
import { anchorsOf, codeOf, headingsOf, linksOf, plainHeading } from "./markdown_text.ts";
import type { Fault, Source } from "./source_tree.ts";

/** A Markdown file. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** All that may be cited. */
export interface Repository {
  readonly pages: readonly Page[];
  /** Whether there is such a file or folder. */
  exists(path: string): boolean;
}

/** A page by its path from the root, with an anchor or before headings in quotation marks. */
const CITATION =
  /(?<![\w./-]|\]\()((?:docs|src|tests|scripts)\/[\w./-]+\.md)(?:#([\w-]+))?((?:`?(?:,| and|, and) "[^"]+")*)/g;
const QUOTED = /"([^"]+)"/g;

/** How texts were cited that are not in the repository. */
const FOREIGN: readonly RegExp[] = [
  /\b[Dd]ecisions,? (?:sections? )?\d+/g,
  /\b[Dd]ecisions[,:] "/g,
  /\b[Dd]ecided in (?:detail in )?"/g,
  /\b[Ss]pec: "/g,
  /\b[Ii]nterface[,:] "/g,
  /(?<![\w/-])(?:interface|decisions|architecture|rooms|conventions)\.md\b/g,
  /\bEXT\b/g,
];

/** A file or folder, named in Markdown by its path from the root. */
const NAMED_PATH = /^(?:docs|src|tests|scripts|\.ci|\.github)\/[\w./-]*(?:\.\w+|\/)$/;
/** A project to copy, whose pages name its files by their path from its own root. */
const PROJECT = /^examples\/[\w-]+\//;
/** A page beside the code, which also names files and folders by their path from its own folder. */
const BESIDE_CODE = /^(?:src|tests|scripts)\//;
const NAMED_BESIDE = /^[\w-]+(?:\/[\w.-]+)*\/(?:[\w.-]+\.(?:ts|py|sh))?$/;

/** A file of code that is named without a folder, or with the last ones. */
const BARE_NAME = /(?<![\w./*>-])[a-z]\w*\.ts\b/g;
const SHORT_NAME = /(?<![\w./*>-])[a-z]\w*(?:\/\w+)*\.ts\b/g;

export function checkCitations(
  sources: readonly Source[],
  repository: Repository,
): Fault[] {
  const names = new Set(sources.flatMap(({ path }) => endsOf(path)));
  const pages = new Map(repository.pages.map((page) => [page.path, page.text]));
  const inCode = sources.flatMap((source) =>
    commentsOf(source).flatMap((comment) => [
      ...faultsOf(source.path, comment, pages),
      ...nameFaults(source.path, comment, SHORT_NAME, names),
    ])
  );
  const inPages = repository.pages.flatMap(({ path, text }) => [
    ...faultsOf(path, joinLines(text.split("\n"), 1), pages),
    ...nameFaults(path, joinLines(text.split("\n"), 1), BARE_NAME, names),
    ...linkFaults(path, text, pages, repository),
    ...pathFaults(path, text, repository),
  ]);
  return [...inCode, ...inPages];
}

function faultsOf(path: string, prose: Prose, pages: ReadonlyMap<string, string>): Fault[] {
  const faults: Fault[] = [];
  const tell = (position: number, rule: string, message: string) =>
    faults.push({ path, line: prose.lineAt(position), rule, message });
  for (const { index, 1: cited, 2: anchor, 3: quoted } of prose.text.matchAll(CITATION)) {
    const page = pages.get(cited!);
    if (page === undefined) {
      tell(index, "no_page", `there is no ${cited}`);
      continue;
    }
    if (anchor !== undefined && !anchorsOf(page).has(anchor)) {
      tell(index, "no_heading", `${cited} has no heading #${anchor}`);
    }
    const headings = new Set(headingsOf(page));
    for (const [, heading] of quoted!.matchAll(QUOTED)) {
      if (headings.has(plainHeading(heading!))) continue;
      tell(index, "no_heading", `${cited} has no heading "${heading}"`);
    }
  }
  for (const pattern of FOREIGN) {
    for (const { index, 0: found } of prose.text.matchAll(pattern)) {
      const message = `'${found}' cites a text that is not in the repository`;
      tell(index, "foreign", `${message}: name the page under docs/ that says it`);
    }
  }
  return faults;
}

/** A path without its first folders: all of it, then ever less, down to the name of the file. */
function endsOf(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(index).join("/"));
}

function nameFaults(
  path: string,
  prose: Prose,
  pattern: RegExp,
  names: ReadonlySet<string>,
): Fault[] {
  return [...prose.text.matchAll(pattern)]
    .filter(([name]) => !names.has(name))
    .map(({ index, 0: name }) => {
      const message = `there is no file ${name}`;
      return { path, line: prose.lineAt(index), rule: "no_file", message };
    });
}

function linkFaults(
  path: string,
  text: string,
  pages: ReadonlyMap<string, string>,
  { exists }: Repository,
): Fault[] {
  const faults: Fault[] = [];
  for (const { line, text: target } of linksOf(text)) {
    const { pathname, hash } = new URL(target, new URL(path, "file:///"));
    const aim = decodeURIComponent(pathname).slice(1);
    const page = pages.get(aim);
    const isThere = page !== undefined || exists(aim.replace(/\/$/, ""));
    const anchor = decodeURIComponent(hash.slice(1));
    if (!isThere) {
      faults.push({ path, line, rule: "no_page", message: `the link ${target} leads nowhere` });
    } else if (anchor !== "" && page !== undefined && !anchorsOf(page).has(anchor)) {
      const message = `the link ${target} leads to no heading`;
      faults.push({ path, line, rule: "no_heading", message });
    }
  }
  return faults;
}

function pathFaults(path: string, text: string, { exists }: Repository): Fault[] {
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  const targetOf = (name: string) => {
    const root = PROJECT.exec(path)?.[0] ?? "";
    if (NAMED_PATH.test(name)) return name.endsWith(".md") ? undefined : root + name;
    return BESIDE_CODE.test(path) && NAMED_BESIDE.test(name) ? folder + name : undefined;
  };
  return codeOf(text)
    .map(({ line, text }) => ({ line, target: targetOf(text) }))
    .filter(({ target }) => target !== undefined && !exists(target.replace(/\/$/, "")))
    .map(({ line, target }) => ({ path, line, rule: "no_file", message: `there is no ${target}` }));
}
